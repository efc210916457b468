"""Reading documents: one module a family of formats; `dispatch` chooses. Runs in the parsing process only."""
