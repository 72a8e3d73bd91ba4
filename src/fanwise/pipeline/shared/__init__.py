"""What ingests of topic and of content traces share: the session, reading, checking, writing."""
