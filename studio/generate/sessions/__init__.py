"""Makes dialogues of two people over months: an event graph of each, sessions that are remembered, questions with
evidence.
"""
