import { cliFieldManager } from "../../api/names.ts";
import { listAt, recordAt, stringAt } from "../../api/parse.ts";

const lastApplied = "f:kubectl.kubernetes.io/last-applied-configuration";

/**
 * Warns about each field manager that applies one of these data keys from files, such as Argo CD:
 * its next apply undoes a change by the client. `object` is the SharedSecret before the change
 * (Kubernetes, Server-Side Apply, "Field management").
 */
export function applierWarnings(object: unknown, keys: readonly string[]): readonly string[] {
  return ownersOf(object).flatMap(({ manager, data, isApplier }) => {
    const owned = keys.filter((key) => `f:${key}` in data);
    if (!isApplier || owned.length === 0) return [];
    return [
      `warning: field manager "${manager}" applies ${owned.join(", ")} from its files: ` +
        "its next apply sets the former value again, or fails with a conflict; " +
        "change the value in those files, or take the data key out of them",
    ];
  });
}

/** Data keys that an object keeps although a field manager applies it without them. */
interface KeptKeys {
  readonly keys: readonly string[];
  /** Who set them. */
  readonly setBy: string;
  readonly appliedBy: string;
}

/**
 * The data keys of a SharedSecret that nobody applies, while another manager applies the object: an
 * apply removes a field only if no other manager has set it (Kubernetes, Server-Side Apply, "Field
 * management"). Keys that this client set are meant to be in no file.
 */
export function keptDataKeys(object: unknown): KeptKeys | undefined {
  const owners = ownersOf(object);
  const applier = owners.find(({ isApplier }) => isApplier);
  const setter = (key: string) => owners.find(({ data }) => `f:${key}` in data);
  const keys = Object.keys(recordAt(recordAt(object, "spec"), "data")).filter(
    (key) => !owners.some(({ data, isMeant }) => isMeant && `f:${key}` in data) && setter(key),
  );
  return applier === undefined || keys[0] === undefined
    ? undefined
    : { keys, setBy: setter(keys[0])?.manager ?? "", appliedBy: applier.manager };
}

/** The field managers of a SharedSecret, and which of its data each has set. */
function ownersOf(object: unknown) {
  return listAt(recordAt(object, "metadata"), "managedFields").map((entry) => {
    const fields = recordAt(entry, "fieldsV1");
    const manager = stringAt(entry, "manager") ?? "";
    const data = recordAt(recordAt(fields, "f:spec"), "f:data");
    const annotations = recordAt(recordAt(fields, "f:metadata"), "f:annotations");
    // Server-side apply, or client-side apply, which keeps an annotation.
    const applies = stringAt(entry, "operation") === "Apply" || lastApplied in annotations;
    const isMeant = applies || manager === cliFieldManager;
    return { manager, data, isMeant, isApplier: applies && manager !== cliFieldManager };
  });
}

/**
 * What to do about the message of an apply whose fields other field managers own; undefined for
 * another message.
 */
export function conflictAdvice(message: string): string | undefined {
  if (!message.startsWith("Apply failed with ")) return undefined;
  const isOurs = message.includes(`"${cliFieldManager}"`);
  const owner = isOurs
    ? `a user set a value with kubectl latchkey, whose field manager is ${cliFieldManager}`
    : "the field manager that the message names has set the field";
  return `${owner}; leave the field out of the file, or take it over with --force-conflicts`;
}
