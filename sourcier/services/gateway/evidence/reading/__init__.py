"""What a model that reads makes of a sentence: the windows of a passage that it is shown, and the verdict on them."""
