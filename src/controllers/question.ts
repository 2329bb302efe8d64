import { type Key, keyOf, type Metadata, type ObjectRef } from "../api/object.ts";
import type { Resource } from "../api/resources.ts";
import type { SecretData } from "../api/shared-secret.ts";
import type { SignedToken, TokenClaims } from "../domain/endpoint-token/token-claims.ts";
import type { FormerGrantee } from "../domain/grants/former-grantee.ts";
import type { Manager } from "../api/managed-fields.ts";
import type { Plan, Write } from "../domain/plan/plan.ts";
import type { DataVariant, Source } from "../domain/sync/copy.ts";
import type { ReadSourceSecret } from "../domain/sync/source-secret.ts";
import type { SyncSummary } from "../domain/sync/sync-summary.ts";

/** What a decision requires besides the stores; its answer leads to the next decision. */
export type Question =
  /** The metadata of an object in the API server. */
  | { readonly do: "read"; readonly resource: Resource; readonly ref: ObjectRef }
  /** Reads an object from the API server into the stores; `sources` are passed to the answer. */
  | {
      readonly do: "refresh";
      readonly resource: Resource;
      readonly ref: ObjectRef;
      readonly sources?: readonly Key[];
    }
  /** Data that is too large for the stores. */
  | { readonly do: "read-data"; readonly source: Source; readonly variant: DataVariant }
  /** A Secret that SharedSecrets follow, with its data. */
  | { readonly do: "read-source"; readonly ref: ObjectRef }
  /** Whether the API server still honours a deleted grant. */
  | {
      readonly do: "review";
      readonly resource: Resource;
      readonly ref: ObjectRef & { readonly uid: string };
      readonly grantee: FormerGrantee;
    }
  /** The states of the targets of a SharedSecret, of which there may be thousands. */
  | { readonly do: "count-targets"; readonly source: Source }
  | { readonly do: "sign"; readonly claims: TokenClaims };

/** What a reconcile sends next: a question or a write. */
export type Request = Question | Write;

/** The state of an object in the API server; a cache may lag behind it. */
export type UncachedObject =
  | {
      readonly kind: "there";
      readonly metadata: Metadata;
      readonly managers: readonly Manager[];
    }
  | { readonly kind: "gone" }
  | { readonly kind: "unknown" };

/** The answer to the question with the same `do`. */
export type Answer =
  | { readonly do: "read"; readonly object: UncachedObject }
  | { readonly do: "refresh"; readonly sources: readonly Key[] }
  /** Undefined if the SharedSecret now has other data, or is gone. */
  | { readonly do: "read-data"; readonly data: SecretData | undefined }
  | { readonly do: "read-source"; readonly source: ReadSourceSecret }
  | { readonly do: "review"; readonly isHonoured: boolean }
  | { readonly do: "count-targets"; readonly summary: SyncSummary }
  /** Undefined without a signing key. */
  | { readonly do: "sign"; readonly minted: SignedToken | undefined };

/** The answers of a reconcile so far, by question. */
export type Answers = ReadonlyMap<string, Answer>;

/** Questions to answer before the next decision. */
export interface Ask {
  readonly questions: readonly Question[];
}

/**
 * A decision of a reconcile: questions, a plan, or to decide again at an instant, in milliseconds
 * since the epoch.
 */
export type ReconcileDecision = Ask | Plan | { readonly decideAt: number };

/** Whether questions are to be answered first. */
export function isAsk(decision: object): decision is Ask {
  return "questions" in decision;
}

/** The question for the metadata of an object in the API server. */
export function readOf(
  resource: Resource,
  ref: ObjectRef,
): Extract<Question, { readonly do: "read" }> {
  return { do: "read", resource, ref };
}

/** The questions that have no answer yet; undefined if all of them have one. */
export function askFor(questions: readonly Question[], answers: Answers): Ask | undefined {
  const open = questions.filter((question) => !answers.has(questionKey(question)));
  return open.length === 0 ? undefined : { questions: open };
}

/** The answer to a question, if it was asked. */
export function answerTo<D extends Question["do"]>(
  question: Extract<Question, { readonly do: D }> & { readonly do: D },
  answers: Answers,
): Extract<Answer, { readonly do: D }> | undefined {
  const answer = answers.get(questionKey(question));
  return isAnswer(answer, question.do) ? answer : undefined;
}

/** Identifies a question among the answers of a reconcile. */
export function questionKey(question: Question): string {
  switch (question.do) {
    case "read":
    case "refresh":
      return `${question.do} ${question.resource.plural} ${keyOf(question.ref)}`;
    case "read-data": {
      const { secret, digest, ownDigest } = question.source;
      const wanted = question.variant === "own" ? ownDigest : digest;
      return `${question.variant} ${secret.metadata.uid} ${wanted}`;
    }
    case "read-source":
      return `read-source ${keyOf(question.ref)}`;
    case "review":
      return `review ${question.ref.uid} ${question.grantee.allowedBy}`;
    case "count-targets": {
      const { uid, resourceVersion } = question.source.secret.metadata;
      return `count ${uid} ${resourceVersion}`;
    }
    case "sign":
      // A later decision about the same token has other times.
      return `sign ${JSON.stringify({ ...question.claims, iat: 0, nbf: 0 })}`;
  }
}

function isAnswer<D extends Answer["do"]>(
  answer: Answer | undefined,
  kind: D,
): answer is Extract<Answer, { readonly do: D }> {
  return answer?.do === kind;
}

const questions: Readonly<Record<Question["do"], true>> = {
  read: true,
  refresh: true,
  "read-data": true,
  "read-source": true,
  review: true,
  "count-targets": true,
  sign: true,
};

/** Whether a request is a question. */
export function isQuestion(request: Request): request is Question {
  return Object.hasOwn(questions, request.do);
}
