import {
  parseRevocationSeq,
  type RevocationSeq,
  revocationSeqText,
  seqOrder,
} from "../domain/endpoint-token/revocation-seq.ts";
import { highestVersion, keptAfterExpiryMs } from "../domain/endpoint-token/revoked-tokens.ts";
import { type RevokedToken, revokedToken, signRevokedList } from "../tokens/revoked-list.ts";
import type { ObservedSigningKeys } from "../tokens/signing-keys.ts";
import type { ServedList } from "./list-polls.ts";
import type { Stores } from "./stores.ts";

/** The list of revoked tokens as it is served: its version is a seq. */
export class ServedRevocations implements ServedList {
  readonly noun = "list of revoked tokens";
  readonly #issuer: string;
  readonly #stores: Pick<Stores, "revokedTokens">;
  #known = new Map<string, RevokedToken>();

  constructor(issuer: string, stores: Pick<Stores, "revokedTokens">) {
    this.#issuer = issuer;
    this.#stores = stores;
  }

  /** Number of stored entries. */
  get tokens(): number {
    let count = 0;
    for (const { entries } of this.#stores.revokedTokens.values()) count += entries.size;
    return count;
  }

  /** Undefined until the first ConfigMap exists. */
  version(keys: ObservedSigningKeys): string | undefined {
    const seq = this.#seq(keys);
    return seq === undefined ? undefined : revocationSeqText(seq);
  }

  isAhead(version: string, current: string): boolean {
    const [one, other] = [parseRevocationSeq(version), parseRevocationSeq(current)];
    if (one === undefined || other === undefined) return false;
    return one.epoch === other.epoch && seqOrder(other, one) === "newer";
  }

  sign(keys: ObservedSigningKeys, { now }: { readonly now: number }): Promise<string> {
    const seq = this.#seq(keys);
    if (seq === undefined) throw new TypeError("there is no list of revoked tokens yet");
    const known = new Map<string, RevokedToken>();
    for (const { entries } of this.#stores.revokedTokens.values()) {
      for (const [jti, { expiresAt }] of entries) {
        const end = expiresAt + keptAfterExpiryMs;
        const before = this.#known.get(jti);
        known.set(jti, before?.expiresAt === end ? before : revokedToken(jti, end));
      }
    }
    this.#known = known;
    return signRevokedList({ issuer: this.#issuer, now, seq, revoked: [...known.values()] }, keys);
  }

  /**
   * The sum of the highest resourceVersion of the ConfigMaps and that of the signing keys: each
   * change raises it, in whatever order their two watches report changes.
   */
  #seq({ epoch, metadata }: ObservedSigningKeys): RevocationSeq | undefined {
    const { revokedTokens } = this.#stores;
    if (revokedTokens.size === 0) return undefined;
    const n = highestVersion(revokedTokens.values()) + Number(metadata.resourceVersion);
    return Number.isSafeInteger(n) ? { epoch, n } : undefined;
  }
}
