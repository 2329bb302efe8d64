/** The most that is read of something that another person, or another cluster, sends. */
interface ReadingBound {
  /** Bytes, or characters of a text that is ASCII. */
  readonly bytes: number;
  /** Parts: values of JSON, parameters, keys or entries. */
  readonly values?: number;
  /** Levels of JSON; without it, `bytes` alone bounds the time. */
  readonly depth?: number;
}

const [kib, mib] = [1024, 1024 * 1024];

/**
 * What others size, each read only within its bounds (docs/security.md, "Bounds"). Another form
 * that arrives gets a row here; heads and bodies of requests, whatever they are, are bounded by the
 * server (`runtime/server-options.ts`, `runtime/http-server.ts`).
 */
export const readingBounds = {
  /**
   * Values are the parameters of the query, empty ones included. With more than 10,000, Go's
   * `url.ParseQuery` and thus kube-apiserver reads none of them, not even a field selector.
   */
  requestTarget: { bytes: 16 * kib, values: 1_000 },
  labelSelector: { bytes: 4 * kib },
  /** The bytes that kube-apiserver reads (MaxRequestBodyBytes); with more parts, it is unjudged. */
  bodyOfOwnKind: { bytes: 3 * mib, values: 50_000, depth: 64 },
  /** The same in YAML, which takes 20 times as long; values are as those of a self review. */
  yamlOfOwnKind: { bytes: 256 * kib, values: 32_768, depth: 100 },
  /** A question about own rights. In YAML, values are the characters that are no part of a word. */
  selfReview: { bytes: 64 * kib, values: 2_048, depth: 16 },
  rulesReview: { bytes: 1 * mib, values: 100_000, depth: 16 },
  token: { bytes: 8 * kib },
  /** A token of another issuer; those of GitHub have 2 kB. */
  foreignToken: { bytes: 16 * kib, values: 1_000, depth: 16 },
  /** The discovery document or the keys of another issuer: ten with certificates have 30 kB. */
  foreignKeys: { bytes: 256 * kib, values: 64 },
  /** The ConfigMap latchkey-issuers. */
  issuers: { bytes: 256 * kib, depth: 16 },
  /** One with two certificates has 10 kB. */
  clusterKubeconfig: { bytes: 128 * kib },
  /** The URL of an API server. */
  clusterAddress: { bytes: 512 },
  /** Some ten certificates; the list of all clusters has 768 KiB. */
  clusterCertificates: { bytes: 16 * kib },
  /** An answer that is no discovery document. */
  clusterAnswer: { bytes: 256 * kib },
  /** A discovery document: one of 10,000 resources has less. */
  clusterDocument: { bytes: 4 * mib, values: 500_000, depth: 32 },
  /**
   * An event about a namespace: its annotations have 256 KiB, and JSON has six bytes for some
   * characters. Most values are the names of fields in `managedFields`.
   */
  clusterEvent: { bytes: 2 * mib, values: 50_000, depth: 32 },
  /**
   * The policy latchkey-outbox rejects a larger one. Values are entries of each kind: so few bytes
   * bound the values of JSON.
   */
  agentReport: { bytes: 64 * kib, values: 2_048, depth: 8 },
  issuerKeys: { bytes: 64 * kib, values: 32 },
  /** 256 KiB of JSON have 350,000 characters in base64url. */
  issuerRoles: { bytes: 512 * kib },
  /** So many tokens have 7.5 million characters. */
  revokedTokens: { bytes: 8 * mib, values: 200_000 },
} as const satisfies Readonly<Record<string, ReadingBound>>;

/**
 * The share of the time of a gateway that reading from one connected cluster may take, and what a
 * quiet cluster saves up of it.
 */
export const clusterTime = { share: 0.1, savedMs: 250 } as const;
