"""What a person sees of the stack."""
