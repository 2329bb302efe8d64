import type { Client } from "../kube/client.ts";
import { HttpsDocument } from "../kube/https-document.ts";
import { VerifiedTokens } from "../tokens/verified-tokens.ts";
import type { TokenOrigin } from "../tokens/verify.ts";
import { IssuerKeys } from "./issuer-keys.ts";
import { KeptSecret } from "./kept-secret.ts";
import type { FrontProcessDeps } from "./process-parts.ts";
import { RevokedListKeeper } from "./revoked-list-keeper.ts";
import { revokedListUrl, RevokedTokens } from "./revoked-tokens.ts";

/** Whose tokens are accepted, and where the issuer publishes what decides about them. */
export interface FollowIssuerOptions extends TokenOrigin {
  readonly namespace: string;
  /** Where the issuer publishes its keys; undefined: below the issuer. */
  readonly jwksUrl: string | undefined;
  /** CA certificates (PEM) of the issuer's server; undefined: public CAs. */
  readonly issuerCa: string | undefined;
  /** Milliseconds since the issuer confirmed the list of revoked tokens; undefined: without end. */
  readonly maximumListAge: number | undefined;
}

/** What following an issuer needs. */
export interface FollowIssuerDeps extends Pick<
  FrontProcessDeps,
  "clock" | "random" | "log" | "metrics"
> {
  readonly client: Client;
  /** Called for each change of what decides about tokens. */
  readonly onChange: () => void;
}

/** What an issuer publishes, followed by its parts once they run. */
export interface FollowedIssuer {
  readonly tokens: VerifiedTokens;
  readonly keys: IssuerKeys;
  readonly revoked: RevokedTokens;
  readonly parts: readonly { run(signal: AbortSignal): Promise<void> }[];
  problems(): readonly string[];
  warnings(): readonly string[];
  close(): Promise<void>;
}

/** The published keys are at most 64 KiB. */
const mostKeyBytes = 64 * 1024;
const fetchTimeoutMs = 10_000;
/** A list of revoked tokens is at most 8 MiB, and the issuer answers a poll after 50 s. */
const mostListBytes = 8 * 1024 * 1024;
const pollTimeoutMs = 60_000;

/** Follows the keys and the revoked tokens of an issuer, and keeps both in one Secret. */
export function followIssuer(
  options: FollowIssuerOptions,
  { client, clock, log, metrics, random, onChange }: FollowIssuerDeps,
): FollowedIssuer {
  const { issuer, namespace, issuerCa: ca } = options;
  const url = options.jwksUrl ?? `${issuer.replace(/\/$/, "")}/openid/v1/jwks`;
  const listUrl = revokedListUrl(url);
  const tokens = new VerifiedTokens(new Map(), options);
  const document = new HttpsDocument({
    ...{ url, ca, mostBytes: mostKeyBytes, timeoutMs: fetchTimeoutMs },
  });
  // A poll must not keep the keys waiting, so it has a connection of its own.
  const list = new HttpsDocument({
    ...{ url: listUrl, accept: "application/jwt", ca, mostBytes: mostListBytes },
    ...{ timeoutMs: pollTimeoutMs, connectTimeoutMs: fetchTimeoutMs },
  });
  const secret = new KeptSecret({ client, log }, { namespace });
  const onKeys: VerifiedTokens["replaceKeys"] = (known) => {
    tokens.replaceKeys(known);
    onChange();
  };
  const keys = new IssuerKeys({ document, secret, clock, log, onKeys }, { url });
  const keeper = new RevokedListKeeper({ secret, clock }, { issuer });
  const revoked = new RevokedTokens(
    {
      ...{ document: list, keys, keeper, clock, random, log, onChange },
      onRefused: (reason) => metrics.revokedList.refused(reason),
    },
    { issuer, url: listUrl, maximumAge: options.maximumListAge },
  );
  metrics.revokedList.confirmedAt(() => revoked.confirmedAt() / 1000);
  return {
    ...{ tokens, keys, revoked, parts: [keys, revoked, keeper] },
    problems: () => [...keys.problems(), ...revoked.problems()],
    warnings: () => [...keys.warnings(), ...revoked.warnings()],
    close: async () => void (await Promise.all([document.close(), list.close()])),
  };
}
