"""The generate service: a language model behind one streaming contract."""
