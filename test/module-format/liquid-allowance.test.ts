/** What filters may make and sort at once: they can't be stopped in the middle. */
import { expect, test } from "vitest";
import { finish, WorkBudget } from "../../lib/internal/work.ts";
import type { Json } from "../../lib/json.ts";
import { liquidTemplates } from "../../lib/module-format/liquid/liquid-templates.ts";

const most = 128 * 1024;
const half = "a".repeat(most / 2);
const params = {
  half,
  long: `${half}b`,
  list: Array.from({ length: 10_000 }, (_, at) => 10_000 - at),
  longer: Array.from({ length: 10_001 }, (_, at) => at),
};

function evaluate(text: string): Json {
  const read = liquidTemplates.read(text);
  if (!read.ok) return `! ${read.fault.message}`;
  const scope = { params, attributes: {}, tags: {} };
  const result = finish(liquidTemplates.begin(scope, new WorkBudget()).evaluate(read.template));
  return result.ok ? result.value : `! ${result.fault.message}`;
}

const tooMuch = "! the templates of the module do too much";

test.each([
  ["{{ params.half | append: params.half | size }}", most],
  ["{{ params.half | append: params.long | size }}", tooMuch],
  ["{{ params.long | append: params.half | size }}", tooMuch],
  ["{{ params.half | prepend: params.half | size }}", most],
  ["{{ params.half | prepend: params.long | size }}", tooMuch],
  ["{{ params.list | sort | first }}", 1],
  ["{{ params.longer | sort | first }}", tooMuch],
])("%s gives %j", (text, expected) => expect(evaluate(text)).toBe(expected));
