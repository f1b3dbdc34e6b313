"""Makes data sets of dialogues in bulk: resumable and filtered, each with a card that says what it is and cost."""
