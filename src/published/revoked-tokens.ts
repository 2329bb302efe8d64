import { readingBounds } from "../api/reading-bounds.ts";
import {
  parseRevocationSeq,
  type RevocationSeq,
  revocationSeqText,
  seqOrder,
} from "../domain/endpoint-token/revocation-seq.ts";
import {
  isRevoked,
  listProblems,
  type RevokedList,
  verifyRevokedList,
} from "../tokens/revoked-list.ts";
import type { FollowedList } from "./followed-list.ts";
import type { PublishedList } from "./published-list.ts";

/** The list of revoked tokens, whose versions are seqs. */
export const revokedTokensList: PublishedList<RevokedList> = {
  noun: "list of revoked tokens",
  name: "revoked",
  mostBytes: readingBounds.revokedTokens.bytes,
  mostPersistedCharacters: 900_000,
  verify: verifyRevokedList,
  refusals: [...listProblems, "older"],
  versionOf: ({ seq }) => revocationSeqText(seq),
  isVersion: (text) => parseRevocationSeq(text) !== undefined,
  // A seq says whether a list is old, whatever the clocks say.
  mostAgeMs: Infinity,
  order: (known, { seq }) => seqOrder(knownSeq(known), seq),
  olderProblem: ({ seq }, known = "") =>
    `its seq ${revocationSeqText(seq)} is older than ${known}, the last that was used; ` +
    "if the central cluster was restored, " +
    "run kubectl latchkey rotate-signing-key --new-epoch there",
  sizeOf: ({ digests }) => digests.size,
};

function knownSeq(version: string | undefined): RevocationSeq | undefined {
  return version === undefined ? undefined : parseRevocationSeq(version);
}

/** The revoked tokens, by the last list of the issuer. */
export class RevokedTokens {
  readonly #followed: Pick<FollowedList<RevokedList>, "last" | "isKnown">;

  constructor(followed: Pick<FollowedList<RevokedList>, "last" | "isKnown">) {
    this.#followed = followed;
  }

  /** Whether the token with this jti is revoked, by the last list. */
  has(jti: string): boolean {
    const list = this.#followed.last();
    return list !== undefined && isRevoked(list, jti);
  }

  /** Whether it is known which tokens are revoked. */
  isKnown(): boolean {
    return this.#followed.isKnown();
  }
}
