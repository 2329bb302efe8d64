const [index, digest] = ["0123456789abcdef", "0123456789abcdef".repeat(4)];
const body = `${index}.${digest}`;

/** Texts in the alphabet of a plain key that somebody wrote instead of a bound digest. */
export const nearDigests: readonly string[] = [
  body,
  ...["sha256-", "sha256=", "sha256_", "sha256/", "sha256.", "sha256~", "sha256+", "sha256"].map(
    (prefix) => prefix + body,
  ),
  ...[
    "SHA256-",
    "Sha256.",
    "sha-256-",
    "SHA_256-",
    "sha512-",
    "sha1-",
    "sha3-256-",
    "digest-",
    "=",
  ].map((prefix) => prefix + body),
  body.toUpperCase(),
  `${index}-${digest}`,
  `${index}_${digest}`,
  `${index}/${digest}`,
  `${index}..${digest}`,
  `${index}-=-${digest}`,
  body.slice(0, -1),
  body.slice(1),
  `${body}-`,
  `sha256-${digest}`,
  `sha.256-${digest}`,
  `SHA=256=${digest}`,
  `sha--256.${digest}`,
  `sha256-${index}`,
  "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
];

/** Plain keys that have something of a digest. */
export const plainKeysLikeDigests: readonly string[] = [
  digest,
  digest.toUpperCase(),
  index + digest,
  "0123456789abcdef",
  "shared-secret-0123456789",
  "my-sha256-0123456789",
  "shared256-0123456789",
  `${index}....${digest}`,
  "550e8400-e29b-41d4-a716-446655440000",
  `${index}.${index}`,
];
