import type { EndpointToken } from "../api/endpoint-token.ts";
import {
  revocableEntry,
  type RevocationDecision,
  type RevokedEntry,
} from "../domain/endpoint-token/revocation.ts";
import { isListed, keptAfterExpiryMs } from "../domain/endpoint-token/revoked-tokens.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Stores } from "./stores.ts";

/** Dependencies of {@link Revocations}. */
export interface RevocationsDeps {
  readonly clock: Pick<Clock, "now">;
  readonly stores: Pick<Stores, "revokedTokens">;
  /** Called when the stored list differs from a decision. */
  readonly onDue: () => void;
}

/**
 * What this leader decided about tokens, by jti, until they expire. A new leader starts without
 * decisions, and changes no entry before it has decided about the token.
 */
export class Revocations {
  readonly #deps: RevocationsDeps;
  readonly #decisions = new Map<string, RevocationDecision>();

  constructor(deps: RevocationsDeps) {
    this.#deps = deps;
  }

  get decisions(): ReadonlyMap<string, RevocationDecision> {
    return this.#decisions;
  }

  /** Records the decision about a token. */
  note(jti: string, decision: RevocationDecision): void {
    const { stores, onDue } = this.#deps;
    const former = this.#decisions.get(jti);
    switch (decision.kind) {
      case "revoked":
        this.#decisions.set(jti, decision);
        if (this.isPending(jti)) onDue();
        return;
      case "valid":
        // A write of the former decision may be in flight.
        if (former === undefined && !isListed(stores.revokedTokens.values(), jti, anyExpiry))
          return;
        this.#decisions.set(jti, decision);
        if (former?.kind !== "valid") onDue();
    }
  }

  /** Records that an object no longer exists: its token stays revoked until it expires. */
  vanished({
    metadata,
    keyId,
    expiresAt,
  }: Pick<EndpointToken, "metadata" | "keyId" | "expiresAt">) {
    const entry = revocableEntry({ metadata, keyId, expiresAt });
    if (entry === undefined || entry.expiresAt <= this.#deps.clock.now())
      this.#decisions.delete(metadata.uid);
    else this.note(metadata.uid, { kind: "revoked", ...entry });
  }

  /** Revokes the tokens of a deleted ConfigMap again. */
  lost(entries: ReadonlyMap<string, RevokedEntry>): void {
    for (const [jti, entry] of entries) {
      if (this.#decisions.get(jti)?.kind !== "valid") this.note(jti, { kind: "revoked", ...entry });
    }
  }

  /** Whether a token is revoked, but not yet in the stored list. */
  isPending(jti: string): boolean {
    const decision = this.#decisions.get(jti);
    return (
      decision?.kind === "revoked" &&
      decision.expiresAt > this.#deps.clock.now() &&
      !isListed(this.#deps.stores.revokedTokens.values(), jti, decision)
    );
  }

  /** The tokens that are pending. */
  pending(): readonly string[] {
    return [...this.#decisions.keys()].filter((jti) => this.isPending(jti));
  }

  /** Forgets tokens that have expired, and valid ones without an entry; no write is in flight. */
  sweep(): void {
    const { clock, stores } = this.#deps;
    const now = clock.now();
    for (const [jti, decision] of this.#decisions) {
      const isDone =
        decision.kind === "revoked"
          ? decision.expiresAt + keptAfterExpiryMs <= now
          : !isListed(stores.revokedTokens.values(), jti, anyExpiry);
      if (isDone) this.#decisions.delete(jti);
    }
  }
}

const anyExpiry = { expiresAt: 0 } as const;
