"""The ``attndsl`` command and what it shows. Nothing else imports this package."""
