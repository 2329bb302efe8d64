import type { KeyConfig } from "../domain/access-key/key-state.ts";
import { podAudiences } from "../kube/credentials/load-credentials.ts";
import type { ProxyOf } from "../kube/credentials/proxies.ts";
import type { InformerDeps } from "../kube/informer/informer-options.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { ProcessPart } from "../runtime/run-process.ts";
import { type AccessKeyCache, createAccessKeyCache, exposeFreshness } from "./access-key-cache.ts";
import { FollowedIssuers } from "./followed-issuers.ts";
import { OidcTokens, tokenRefusals } from "./oidc-tokens.ts";

/** What {@link followIdentities} needs. */
interface FollowIdentitiesDeps extends InformerDeps {
  readonly metrics: Metrics;
  readonly proxyOf: ProxyOf;
  /** Called for each change of what decides about a request with a key. */
  readonly onChange?: () => void;
}

/** What decides who presents a key, or a token in place of it. */
interface Identities {
  readonly accessKeys: AccessKeyCache;
  readonly tokens: OidcTokens;
  readonly parts: readonly ProcessPart[];
}

/** Follows access keys, and the issuers whose tokens stand for them. */
export function followIdentities(config: KeyConfig, deps: FollowIdentitiesDeps): Identities {
  const { metrics, proxyOf, onChange = () => undefined, ...following } = deps;
  const { clock, log } = following;
  const issuers = new FollowedIssuers({ clock, log, proxyOf, onKeys: onChange });
  const accessKeys = createAccessKeyCache(
    {
      ...following,
      onChange,
      issuers: {
        taken: () => ({ audiences: podAudiences(), issuer: undefined }),
        use: (entries) => issuers.use(entries),
      },
    },
    config,
  );
  const tokens = new OidcTokens({
    issuers: { isFresh: () => accessKeys.areIssuersFresh(), of: (url) => issuers.of(url) },
    accessKeys,
    clock,
    onRefused: metrics.counterOf("latchkey_token_refusals_total", tokenRefusals, (reason) => ({
      reason,
    })),
  });
  exposeFreshness(accessKeys, metrics);
  metrics.onScrape("token issuers", () => {
    const isRefused = accessKeys.issuersProblem() !== undefined;
    metrics.gauge("latchkey_token_issuers_refused", {}).set(isRefused ? 1 : 0);
    metrics.reset("latchkey_token_issuer_keys_timestamp_seconds");
    for (const { url, readAt } of issuers.readings())
      metrics
        .gauge("latchkey_token_issuer_keys_timestamp_seconds", { issuer: url })
        .set(readAt / 1000);
  });
  return {
    accessKeys,
    tokens,
    parts: [
      {
        run: (signal) => accessKeys.run(signal),
        problems: () => accessKeys.staleReasons(),
        warnings: () => [accessKeys.issuersProblem()].filter((problem) => problem !== undefined),
      },
      issuers,
    ],
  };
}
