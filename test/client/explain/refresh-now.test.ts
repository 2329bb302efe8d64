import { expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import { recordAt, stringAt } from "../../../src/api/parse.ts";
import { answeringCluster, type FakeAnswer, refusal, runCommand } from "../run-command.ts";

const sync = { desired: 3, synced: 2 };
const forbidden = 'sharedsecrets "db" is forbidden: User "bob" cannot get resource "sharedsecrets"';

/** Runs `refresh-now db` beside a controller that answers a GET as `see` says. */
async function refresh(see: (requested: string, looks: number) => FakeAnswer) {
  let [requested, looks] = ["", 0];
  const { cluster } = answeringCluster(({ method, body }) => {
    if (method === "GET") return see(requested, (looks += 1));
    const { [annotations.refreshNow]: value } = recordAt(recordAt(body, "metadata"), "annotations");
    requested = stringAt({ value }, "value") ?? "";
    return [200, {}];
  });
  return runCommand({ command: "refresh-now", args: ["db"], connect: async () => cluster });
}

const seen = (refreshed: string): FakeAnswer => [200, { status: { sync: { ...sync, refreshed } } }];

test.each<[string, (requested: string, looks: number) => FakeAnswer, object]>([
  [
    "the controller has read every copy",
    (requested, looks) => seen(looks < 4 ? "before" : requested),
    {
      code: 0,
      stdout: "sharedsecret/db refreshed: 2 of 3 targets synced, 1 pending\n",
      stderr: "",
    },
  ],
  [
    "the controller is frozen",
    () => seen("2025-12-31T23:59:59.000Z"),
    {
      code: 3,
      stdout: "",
      stderr:
        'SharedSecret "team-a/db": the refresh was requested, and the controller has not finished it after 30 s; run kubectl latchkey check\n',
    },
  ],
  [
    "the user may not read the SharedSecret",
    () => refusal(403, "Forbidden", forbidden),
    {
      code: 0,
      stdout:
        "sharedsecret/db refresh requested; you may not read whether the controller has finished it\n",
      stderr: "",
    },
  ],
])("refresh-now says only what it saw if %s", async (_case, see, ended) => {
  expect(await refresh(see)).toEqual(ended);
});
