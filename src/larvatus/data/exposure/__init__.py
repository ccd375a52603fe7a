"""What a release exposes without an attack: records alone in the unmasked columns, and records that are not masked."""
