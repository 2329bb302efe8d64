import { expect, it } from "vitest";
import {
  answerPace,
  bodyPace,
  type Pace,
  patienceMs,
  streamPace,
} from "../../../src/domain/gateway/body-pace.ts";

it.each<[string, Pace, number, number, number]>([
  ["a body at its begin", bodyPace, 0, 0, 10_000],
  ["a body that took its time", bodyPace, 0, 9_000, 1_000],
  ["a body that moves at the pace", bodyPace, 16_384, 10_000, 1_000],
  ["a body that moved much", bodyPace, 3_000_000, 20_000, 10_000],
  ["a body of a minute", bodyPace, 3_000_000, 60_000, 0],
  ["a body that is late already", bodyPace, 0, 11_000, 0],
  ["a body for a backend", streamPace, 3, 90_000, 30_000],
  ["an answer that is not read", answerPace, 4_000_000, 0, 60_000],
  ["an answer that is read slowly", answerPace, 16_384 * 10, 65_000, 5_000],
])("the client of %s has some time left", (_what, pace, bytes, waitedMs, left) => {
  expect(patienceMs(pace, { bytes, waitedMs })).toBe(left);
});
