"""The agent: minds, episodes, and the judge of what they did."""
