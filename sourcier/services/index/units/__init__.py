"""Knowledge units: what a language model made of a chunk, as built, stored, edited and committed."""
