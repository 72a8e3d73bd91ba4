"""A content-based broker network that moves its users: brokers, directory, clients.

After Section V of Zhao and Wu (SECON 2011). Needs msgpack: ``pip install 'fanwise[brokers]'``.
"""
