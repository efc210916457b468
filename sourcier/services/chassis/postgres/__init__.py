"""PostgreSQL: the pool, transactions that name their tenant, migrations, types and errors."""
