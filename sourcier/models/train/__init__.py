"""How the reader is trained: pairs made by rule from people's texts, and the fitting of the upper layers."""
