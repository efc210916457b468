"""Who calls, and what they may do: tokens and API keys, roles and grants, the gate before every call, the audit log."""
