import { annotations, cliFieldManager, ownObjects } from "../../api/names.ts";
import { resources } from "../../api/resources.ts";
import { mostSigningKeys, publishedBeforeMs } from "../../domain/endpoint-token/key-rotation.ts";
import { timestamp } from "../../domain/plan/conditions.ts";
import { type Client, createClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import type { PassiveClock } from "../../runtime/clock.ts";
import {
  dataWithNewEpoch,
  isRotationRequested,
  type ObservedSigningKeys,
  parseSigningKeys,
} from "../../tokens/signing-keys.ts";
import type { Action } from "../cli.ts";
import { notFound } from "../failure.ts";
import { doneText } from "../output.ts";

/** `kubectl latchkey rotate-signing-key`. */
export const rotateKeyOfIssuer: Action<"rotateSigningKey"> = async ({ flags }, cli) => {
  const { newEpoch, latchkeyNamespace: namespace } = flags;
  const client = createClient((await cli.connect(flags)).transport, cliFieldManager);
  const { clock } = cli;
  await rotateSigningKey({ namespace, newEpoch }, { client, clock, print: cli.terminal.print });
};

/** Dependencies of {@link rotateSigningKey}. */
interface RotateSigningKeyDeps {
  readonly client: Pick<Client, "get" | "patch">;
  readonly clock: PassiveClock;
  readonly print: (text: string) => void;
}

/** Where the signing keys are, and whether the list of revoked tokens gets a new epoch. */
interface RotateSigningKeyOptions {
  readonly namespace: string;
  readonly newEpoch: boolean;
}

/** The controller writes the Secret, too; it seldom does so twice in a row. */
const mostTries = 5;

/**
 * Asks the controller for a new signing key, by an annotation of their Secret, raises the epoch of
 * the list of revoked tokens if `newEpoch` is set, and prints what follows. A request that
 * conflicts with another write is decided again. Throws a UsageError if the Secret does not exist,
 * and a SigningKeysError if it is invalid.
 */
export async function rotateSigningKey(
  options: RotateSigningKeyOptions,
  deps: RotateSigningKeyDeps,
): Promise<void> {
  for (let left = mostTries; ; left -= 1) {
    try {
      return printResult(options, { ...deps, ...(await request(options, deps)) });
    } catch (error) {
      if (left === 1 || !isKubeError(error, "Conflict")) throw error;
    }
  }
}

/** What was seen before the request. */
interface Seen {
  readonly found: ObservedSigningKeys;
  /** Whether a rotation was requested already. */
  readonly isRequested: boolean;
}

async function request(
  { namespace, newEpoch }: RotateSigningKeyOptions,
  { client, clock }: RotateSigningKeyDeps,
): Promise<Seen> {
  const ref = { namespace, name: ownObjects.signingKeys };
  const found = parseSigningKeys(
    await client
      .get(resources.secrets, ref)
      .catch(
        notFound(
          `Secret "${namespace}/${ref.name}" does not exist; ` +
            "start latchkey controller, which creates it, or set the namespace of Latchkey",
        ),
      ),
  );
  const isRequested = isRotationRequested(found);
  const { uid, resourceVersion } = found.metadata;
  const requested = { annotations: { [annotations.rotateSigningKey]: timestamp(clock.now()) } };
  const body = {
    metadata: { uid, resourceVersion, ...(isRequested ? {} : requested) },
    ...(newEpoch ? { data: dataWithNewEpoch(found, clock.now()) } : {}),
  };
  if (newEpoch || !isRequested) await client.patch(resources.secrets, ref, { body });
  return { found, isRequested };
}

function printResult(
  { newEpoch }: RotateSigningKeyOptions,
  { found, isRequested, print }: Seen & Pick<RotateSigningKeyDeps, "print">,
): void {
  const done = (what: string): void => print(doneText(resources.secrets, found.metadata, what));
  if (newEpoch) done("set a new epoch of the list of revoked tokens");
  if (isRequested) return done("rotation already requested");
  const next = found.keys.find(({ state }) => state === "next");
  done(
    "rotation requested: " +
      (next === undefined
        ? "the controller publishes a new signing key, and signs with it after " +
          `${publishedBeforeMs / 1000} s`
        : `the key ${next.kid} is published already and signs first; ` +
          "then the controller publishes a new one"),
  );
  if (found.keys.length >= mostSigningKeys)
    done(
      `has ${found.keys.length} signing keys: ` +
        "the controller publishes a new one when the tokens of the oldest have expired",
    );
}
