import { annotations, labels, outboxSecretType } from "../../src/api/names.ts";
import { outboxName, outboxNamespace } from "../../src/domain/outbox/outbox-names.ts";
import { rawObject, type RawObject } from "./fake-list-watch.ts";

/** The name of the connected cluster in these tests. */
export const cluster = "east";

/** The namespace of its outbox. */
export const outbox = outboxNamespace(cluster);

/** What differs from an entry of `team/<name>` with the uid `uid-<name>`, for project `web`. */
interface EntryChanges {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly data?: Readonly<Record<string, string>>;
  readonly type?: string;
}

/** A Secret of the outbox that offers `team/<name>`. */
export function rawEntry(name: string, changes: EntryChanges = {}): RawObject {
  const { data = { password: "Y2FuYXJ5" }, type = outboxSecretType } = changes;
  return rawObject(
    {
      namespace: outbox,
      name: outboxName({ namespace: "team", name }),
      uid: `entry-${name}`,
      labels: { [labels.outboxUid]: `uid-${name}` },
      annotations: {
        [annotations.outboxFormat]: "1",
        [annotations.source]: `team/${name}`,
        [annotations.syncToProjects]: "web",
        ...changes.annotations,
      },
    },
    { type, data },
  );
}

/** A Secret of the outbox that withdraws `team/<name>`. */
export function rawTombstone(name: string): RawObject {
  const { metadata, type } = rawEntry(name);
  const marks = {
    [annotations.outboxFormat]: "1",
    [annotations.source]: `team/${name}`,
    [annotations.withdrawn]: `uid-${name}`,
  };
  return rawObject({ ...metadata, annotations: marks }, { type });
}
