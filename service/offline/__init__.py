"""Who answers when no language model does: authored sentences, chosen by rule."""
