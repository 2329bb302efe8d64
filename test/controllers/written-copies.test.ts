import { expect, test } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { resources } from "../../src/api/resources.ts";
import { WrittenCopies } from "../../src/controllers/written-copies.ts";
import { recordingLog } from "../support/recording-log.ts";
import { TestClock } from "../support/test-clock.ts";

const { secrets: resource } = resources;

function copy(source: string, dataDigest: string) {
  const metadata = { name: "db", annotations: { [annotations.copyOf]: `${source} -> web/db` } };
  const object = { apiVersion: "v1", kind: "Secret", metadata };
  return { do: "replace", resource, object, dataDigest } as const;
}

test("copies that are written and removed within a second are one line", () => {
  const [clock, log] = [new TestClock(), recordingLog()];
  const copies = new WrittenCopies({ clock, log });
  for (const source of ["team/a", "team/a", "team/b"]) copies.note(copy(source, "x"));
  copies.note(copy("team/c", ""));
  const gone = { name: "db", namespace: "web" };
  copies.note({ do: "delete", resource, ref: gone, uid: "u", resourceVersion: "1" });
  expect(log.lines).toEqual([]);
  clock.advance(1_000);
  const line = (written: number, removed: number, objects: readonly string[]) => ({
    level: "info",
    message: "copies written",
    fields: { written, removed, objects },
  });
  expect(log.lines).toEqual([line(3, 2, ["team/a", "team/b"])]);
  clock.advance(60_000);
  for (let at = 0; at < 20; at += 1) copies.note(copy(`team/${at}`, "x"));
  clock.advance(1_000);
  expect(log.lines.slice(1)).toMatchObject([{ fields: { written: 20, removed: 0 } }]);
  expect(log.lines[1]?.fields.objects).toHaveLength(10);
});
