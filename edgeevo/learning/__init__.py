"""From verified episodes to an adapter, and from an adapter to a judgement."""
