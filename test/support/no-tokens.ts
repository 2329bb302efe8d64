import type { IdentifyKeyDeps } from "../../src/authn/identify-key.ts";

/** No text is a token of a configured issuer. */
export const noTokens: IdentifyKeyDeps["tokens"] = {
  identify: () => undefined,
  noteRefused() {},
};

/** Nothing is taken, and nobody follows the issuers. */
export const noIssuers = {
  taken: () => ({ audiences: [], issuer: undefined }),
  use() {},
} as const;
