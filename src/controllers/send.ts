import type { Event } from "../api/event.ts";
import type { ObjectRef } from "../api/object.ts";
import { parseMetadata } from "../api/parse.ts";
import type { Resource } from "../api/resources.ts";
import { managersOf } from "../api/managed-fields.ts";
import type { Write } from "../domain/plan/plan.ts";
import type { Client } from "../kube/client/client.ts";
import { isKubeError } from "../kube/client/kube-error.ts";
import { canExist } from "../kube/client/paths.ts";
import type { Outcome } from "./reconcile.ts";
import { countTargets, type ForEach } from "./count-targets.ts";
import {
  type Answer,
  isQuestion,
  type UncachedObject,
  type Question,
  type Request,
} from "./question.ts";
import { readSource } from "./read-source.ts";
import type { SourceData } from "./source-data.ts";
import type { SyncState } from "./sync-state.ts";

/** Dependencies of {@link send}. */
interface SendDeps {
  readonly client: Client;
  readonly state: SyncState;
  readonly sourceData: SourceData;
  readonly forEach: ForEach;
  readonly recordEvent: (event: Event) => Promise<void>;
  /** Reads an object from the API server into the stores. */
  readonly refresh: (resource: Resource, ref: ObjectRef) => Promise<void>;
  /** Answers what only the decisions of the central cluster ask. */
  readonly answerOther?: AnswerOther | undefined;
}

/** Answers a question about grants and tokens; rejects with the KubeError of its request. */
export type AnswerOther = (
  question: Extract<Question, { readonly do: "review" | "sign" }>,
  client: Client,
) => Promise<Answer>;

/** Sends a request of a reconcile; never rejects. */
export async function send(request: Request, deps: SendDeps): Promise<Outcome> {
  try {
    return isQuestion(request)
      ? { answer: await answered(request, deps) }
      : { response: await written(request, deps) };
  } catch (error) {
    return { error };
  }
}

async function answered(question: Question, deps: SendDeps): Promise<Answer> {
  const { client, state, sourceData, forEach, refresh, answerOther } = deps;
  switch (question.do) {
    case "read":
      return { do: "read", object: await readUncached(question.resource, question.ref, client) };
    case "refresh":
      await refresh(question.resource, question.ref);
      return { do: "refresh", sources: question.sources ?? [] };
    case "read-data":
      return { do: "read-data", data: await sourceData.of(question.source, question.variant) };
    case "read-source":
      return { do: "read-source", source: await readSource(question.ref, client) };
    case "count-targets":
      return { do: "count-targets", summary: await countTargets(question.source, state, forEach) };
    case "review":
    case "sign":
      if (answerOther === undefined) throw new Error(`nothing answers ${question.do}`);
      return answerOther(question, client);
  }
}

async function written(write: Write, { client, recordEvent }: SendDeps): Promise<unknown> {
  switch (write.do) {
    case "dry-run-create":
      return dryRunCreate(write, client);
    case "create":
      return client.create(write.resource, write.object);
    case "replace":
      return client.replace(write.resource, write.object);
    case "patch": {
      const { resource, ref, body, subresource } = write;
      return client.patch(resource, ref, {
        body,
        ...(subresource === undefined ? {} : { subresource }),
      });
    }
    case "delete": {
      const { resource, ref, uid, resourceVersion } = write;
      return client.delete(resource, ref, { uid, resourceVersion });
    }
    case "record-event":
      return recordEvent(write.event);
  }
}

/**
 * Checks that the API server accepts an object. It validates an object before it checks the name,
 * so AlreadyExists means that the object is valid. An exceeded quota is no error: it has room once
 * the old object is deleted.
 */
async function dryRunCreate(
  { resource, object }: Extract<Write, { do: "dry-run-create" }>,
  client: Client,
): Promise<void> {
  try {
    await client.create(resource, object, { dryRun: true });
  } catch (error) {
    const isFull = isKubeError(error, "Forbidden") && error.explanation.includes("exceeded quota");
    if (!isKubeError(error, "AlreadyExists") && !isFull) throw error;
  }
}

/**
 * Reads an object from the API server. It is gone if a 404 names it; a 404 without the name means
 * that the resource is not served, and says nothing about the object. Throws any other KubeError.
 * An object that cannot exist is gone.
 */
async function readUncached(
  resource: Resource,
  ref: ObjectRef,
  client: Client,
): Promise<UncachedObject> {
  if (!canExist(ref)) return { kind: "gone" };
  try {
    const raw = await client.getMetadata(resource, ref);
    return { kind: "there", metadata: parseMetadata(raw), managers: managersOf(raw) };
  } catch (error) {
    if (isKubeError(error, "NotFound"))
      return { kind: error.objectName === ref.name ? "gone" : "unknown" };
    throw error;
  }
}
