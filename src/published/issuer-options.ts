import { duration, httpsUrl, optional, text } from "../runtime/config-values.ts";
import type { OptionTable } from "../runtime/options.ts";

/** Options of what follows the issuer of direct tokens in a connected cluster. */
export const issuerFollowingOptions = {
  jwksUrl: {
    value: "<url>",
    initial: "",
    help:
      "URL of the public signing keys; if unset, /openid/v1/jwks below --issuer; " +
      "the list of revoked tokens is read from `revoked` in the same directory",
    parse: optional(httpsUrl),
  },
  certificateAuthority: {
    value: "<file>",
    initial: "",
    help:
      "file with the PEM certificates of the CAs of the issuer's server; " +
      "if unset, the public CAs",
    parse: optional(text),
  },
  /** Milliseconds. */
  maximumListAge: {
    value: "<duration>",
    initial: "",
    help:
      "maximum time since the issuer last confirmed its list of revoked tokens, after which " +
      "no token is accepted; at least 2m; if unset, the last list is used until the issuer " +
      "answers again",
    parse: optional(duration({ unit: 1000, least: 120 })),
  },
} as const satisfies OptionTable;
