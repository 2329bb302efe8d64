import {
  type BareClient,
  type BareRequest,
  patch,
  post,
  put,
  remove,
} from "../support/bare-client.ts";
import {
  ceilingName,
  copyLikeBody,
  metadataOf,
  ownPath,
  parsed,
  plainName,
  secretPath,
  type BareForm,
  tokenRequest,
} from "../support/bench-objects.ts";
import type { BenchFixture } from "./bench-fixture.ts";

const warmUp = 1000;

/**
 * Sends the first 1,000 requests on the account's connections, which cost a process more than later
 * ones.
 */
export async function warmBareClient({ account }: BenchFixture): Promise<void> {
  await account.pour(warmUp, () => ({ method: "GET", path: secretPath("latchkey-system") }));
}

/** Secrets of the same form as Latchkey's, one in each namespace, written by the bare client. */
export interface SecretCeiling {
  /** Milliseconds to create all of them. */
  readonly create: () => Promise<number>;
  /** Milliseconds to replace all of them. */
  readonly replace: () => Promise<number>;
  readonly remove: () => Promise<void>;
}

/**
 * The rate at which the bare client writes a Secret into each namespace. Another field manager
 * creates those in the form of placeholders, which costs the API server more in each update.
 */
export function secretCeiling(
  client: BareClient,
  namespaces: readonly string[],
  form: BareForm,
): SecretCeiling {
  const creator = form === "placeholders" ? "creator" : ceilingName;
  const name = form === "plain" ? plainName : ceilingName;
  const at = (index: number): string => namespaces[index] ?? "";
  const count = namespaces.length;
  const versions: string[] = [];
  let version = 1;
  const note = (body: string, index: number): void =>
    void (versions[index] = metadataOf(parsed(body)).resourceVersion);
  const createAt = (index: number): BareRequest =>
    post(
      `${secretPath(at(index))}?fieldManager=${creator}`,
      copyLikeBody(at(index), { version, form }),
    );
  const replaceAt = (index: number): BareRequest =>
    put(
      `${secretPath(at(index), name)}?fieldManager=${ceilingName}`,
      copyLikeBody(at(index), { version, form, resourceVersion: versions[index] ?? "" }),
    );
  return {
    create: () => client.pour(count, createAt, note),
    replace() {
      version += 1;
      return client.pour(count, replaceAt, note);
    },
    async remove() {
      await client.pour(count, (index) => remove(secretPath(at(index), name)));
    },
  };
}

/**
 * The rate, in tokens per second, at which the bare client creates and patches a token twice, while
 * no controller runs. Latchkey writes a finalizer and a status for each token; its grants are
 * batched and not counted here.
 */
export async function tokenCeiling({ admin, account }: BenchFixture): Promise<number> {
  const count = 500;
  const name = (index: number): string => `ceiling-${index}`;
  const path = (index: number): string => ownPath("directclusterendpointtokens", name(index));
  const annotated = { metadata: { annotations: { ceiling: "x" } } };
  const withStatus = { status: { keyID: "x", token: "x".repeat(600) } };
  const took = [
    await admin.pour(count, (index) => tokenRequest(name(index), "ceiling")),
    await account.pour(count, (index) => patch(path(index), annotated)),
    await account.pour(count, (index) => patch(`${path(index)}/status`, withStatus)),
  ];
  await admin.pour(count, (index) => remove(path(index)));
  return (count * 1000) / took.reduce((sum, ms) => sum + ms, 0);
}
