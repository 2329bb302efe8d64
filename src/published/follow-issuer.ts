import { readingBounds } from "../api/reading-bounds.ts";
import { HttpsDocument } from "../kube/client/https-document.ts";
import type { ProxyOf } from "../kube/credentials/proxies.ts";
import { ConfigError } from "../runtime/config-values.ts";
import { FollowedFiles } from "../runtime/followed-files.ts";
import { isRegularFile, readTextFile } from "../runtime/read-text-file.ts";
import type { ProcessContext, ProcessPart } from "../runtime/run-process.ts";
import { caCertificates } from "../tokens/certificate-pem.ts";
import { FollowedList } from "./followed-list.ts";
import { IssuerKeys, type IssuerKeysDeps } from "./issuer-keys.ts";
import { PersistedList } from "./persisted-list.ts";
import { PersistedState, type PersistedStateDeps } from "./persisted-state.ts";
import { type Issued, listUrl, type PublishedList } from "./published-list.ts";
import { RevokedTokens, revokedTokensList } from "./revoked-tokens.ts";
import { IssuerRoles, rolesList } from "./issuer-roles.ts";

/** Whose tokens are accepted, and where the issuer publishes what decides about them. */
export interface FollowIssuerOptions {
  readonly issuer: string;
  readonly namespace: string;
  /** Where the issuer publishes its keys; undefined: below the issuer. */
  readonly jwksUrl: string | undefined;
  /** CA certificates (PEM) of the issuer's server; undefined: public CAs. */
  readonly issuerCa: Pick<FollowedFiles<string>, "current" | "warnings"> | undefined;
  /** Milliseconds since the issuer confirmed the list of revoked tokens; undefined: without end. */
  readonly maximumListAge: number | undefined;
}

/** What following an issuer needs. */
interface FollowIssuerDeps extends ProcessContext {
  readonly client: PersistedStateDeps["client"];
  /** The name of the Secret in which the process persists what is published. */
  readonly secretName: string;
  readonly proxyOf: ProxyOf;
  /** Called for each new set of keys. */
  readonly onKeys: IssuerKeysDeps["onKeys"];
  /** Called for each new list of revoked tokens or of roles. */
  readonly onList: () => void;
}

/** What an issuer publishes, followed once its parts run. */
export interface FollowedIssuer {
  readonly keys: IssuerKeys;
  readonly revoked: RevokedTokens;
  readonly roles: IssuerRoles;
  readonly parts: readonly ProcessPart[];
}

const fetchTimeoutMs = 10_000;
/** The issuer answers a poll after 50 s. */
const pollTimeoutMs = 60_000;

/** Follows the keys and the lists of an issuer, and persists all of them in one Secret. */
export function followIssuer(options: FollowIssuerOptions, deps: FollowIssuerDeps): FollowedIssuer {
  const { client, clock, log, secretName, proxyOf, onKeys } = deps;
  const { issuer, namespace, issuerCa } = options;
  const ca = issuerCa && (() => issuerCa.current());
  const url = options.jwksUrl ?? `${issuer.replace(/\/$/, "")}/openid/v1/jwks`;
  const document = new HttpsDocument({
    url,
    ca,
    mostBytes: readingBounds.issuerKeys.bytes,
    timeoutMs: fetchTimeoutMs,
    clock,
    proxyOf,
  });
  const state = new PersistedState({ client, log }, { namespace, name: secretName });
  const keys = new IssuerKeys({ document, state, clock, log, onKeys }, url);
  const following = { ...deps, options, state, keys, keysUrl: url, ca };
  const revoked = followList(revokedTokensList, following);
  const rolesFollowed = followList(rolesList, following);
  const roles = new IssuerRoles(rolesFollowed.followed);
  return {
    keys,
    revoked: new RevokedTokens(revoked.followed),
    roles,
    parts: [
      ...[document, keys, ...revoked.parts, revoked.followed],
      ...rolesFollowed.parts,
      // Without roles a token covers less, so that a process without them is ready.
      { run: (signal) => rolesFollowed.followed.run(signal), warnings: () => roles.warnings() },
      { warnings: () => issuerCa?.warnings() ?? [] },
    ],
  };
}

/** What following one list of an issuer needs. */
interface FollowListDeps extends FollowIssuerDeps {
  readonly options: FollowIssuerOptions;
  readonly state: PersistedState;
  readonly keys: IssuerKeys;
  readonly keysUrl: string;
  readonly ca: (() => string) | undefined;
}

/** A list that is published beside the keys, and parts of the process beside following it. */
function followList<T extends Issued>(
  published: PublishedList<T>,
  { options, state, keysUrl, ca, ...deps }: FollowListDeps,
): { readonly followed: FollowedList<T>; readonly parts: readonly ProcessPart[] } {
  const { issuer, maximumListAge: maximumAge } = options;
  const url = listUrl(published, keysUrl);
  // A poll must not keep the keys waiting, so it has a connection of its own.
  const document = new HttpsDocument({
    url,
    accept: "application/jwt",
    ca,
    mostBytes: published.mostBytes,
    timeoutMs: pollTimeoutMs,
    connectTimeoutMs: fetchTimeoutMs,
    clock: deps.clock,
    proxyOf: deps.proxyOf,
  });
  const persisted = new PersistedList({ published, state, clock: deps.clock }, issuer);
  const { metrics, onList: onChange } = deps;
  const onRefused = metrics.counterOf(
    `latchkey_${published.name}_list_refusals_total`,
    published.refusals,
    (reason) => ({ reason }),
  );
  const followed = new FollowedList(
    { ...deps, published, document, persisted, onChange, onRefused },
    { issuer, url, maximumAge },
  );
  metrics.onScrape(published.noun, () =>
    metrics
      .gauge(`latchkey_${published.name}_list_confirmed_timestamp_seconds`, {})
      .set(followed.confirmedAt() / 1000),
  );
  // The warnings about the persisted list are among those of the list.
  return { followed, parts: [document, { run: (signal) => persisted.run(signal) }] };
}

/**
 * Follows the CAs of the issuer's server (PEM) in the file of `--certificate-authority`; undefined
 * without a file. Throws a ConfigError if the file has no certificates.
 */
export function followIssuerAuthority(
  path: string | undefined,
  deps: Pick<ProcessContext, "clock" | "log">,
): FollowedFiles<string> | undefined {
  if (path === undefined) return undefined;
  const option = "--certificate-authority";
  const read = (): string => {
    const certificates = caCertificates(readTextFile({ option, path }));
    if (certificates !== undefined) return certificates;
    throw new ConfigError(option, path, "must be a file of PEM certificates");
  };
  return new FollowedFiles({ name: path, read, isFinal: () => !isRegularFile(path) }, deps);
}
