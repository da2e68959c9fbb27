import { expect, test } from "vitest";
import { parsePrometheusText } from "../../../lib/agent/metrics/prometheus-text.ts";
import { namePattern } from "../../../lib/metrics/sample-rules.ts";
import { cpuMsOf } from "../../support/cpu-time.ts";

const valuesOf = (text: string) => parsePrometheusText(text, 200).values;

test("reads what Prometheus and OpenMetrics write", () => {
  const text = `# HELP http_requests_total The total number of HTTP requests.
# TYPE http_requests_total counter
http_requests_total{method="post",code="200"} 1027 1395066363000
http_requests_total{code="400",method="post",} 3 # {trace_id="x"} 1

  job:queue_length   5e-1
temperature_celsius{room="a \\"big\\" one, {really}",path="C:\\\\x"} -4.25
with_space {a="b"} +7
without_space{a="b"}8 1395066363000
rpc_duration_seconds_sum 1.7560473e+07
# EOF
`;
  const { values, faults } = parsePrometheusText(text, 200);
  expect(values).toEqual({
    "custom.http_requests_total{code=200,method=post}": 1_027,
    "custom.http_requests_total{code=400,method=post}": 3,
    "custom.job_queue_length": 0.5,
    'custom.temperature_celsius{path=C:\\x,room=a "big" one_ _really_}': -4.25,
    "custom.with_space{a=b}": 7,
    "custom.without_space{a=b}": 8,
    "custom.rpc_duration_seconds_sum": 17_560_473,
  });
  expect(faults).toBe(0);
  expect(Object.keys(values).filter((name) => !namePattern.test(name))).toEqual([]);
});

test.each<[what: string, line: string]>([
  ["NaN", "x NaN"],
  ["infinity", "x +Inf"],
  ["a number that is too large", "x 1e999"],
  ["hexadecimal", "x 0x10"],
  ["no value", "x"],
  ["a value alone", "12"],
  ["a name of 10 kB", `${"x".repeat(10_000)} 1`],
  ["a label of no form", "x{a=b} 1"],
  ["a label without an end", 'x{a="b} 1'],
  ["more after the labels", 'x{a="b"}{c="d"} 1'],
  ["an escape sequence as a name", "\u001b]52;c;aGk=\u0007 1"],
  ["half a line", "http_req"],
])("leaves out %s, and takes what stands beside it", (_what, line) => {
  expect(parsePrometheusText(`${line}\ngood 1\n`, 200)).toEqual({ values: { "custom.good": 1 }, faults: 1 });
});

test("a label that would act on a terminal is made harmless, and a long one is cut", () => {
  const names = Object.keys(valuesOf(`x{a="\u001b[2J\u202e"} 1\ny{a="${"é".repeat(10_000)}"} 1\n`));
  expect(names[0]).toBe("custom.x{a=_[2J_}");
  expect(names.every((name) => namePattern.test(name) && name.length <= 200)).toBe(true);
});

test.each<[what: string, second: string]>([
  ["the same name", 'x{a="b,c"} 2'],
  ["a name that differs only in characters that are replaced", 'x{a="b=c"} 2'],
])("of two lines with %s the last counts, and the other is a fault", (_what, second) => {
  const text = `x{a="b,c"} 1\n${second}\ny 3\n`;
  expect(parsePrometheusText(text, 200)).toEqual({
    values: { "custom.x{a=b_c}": 2, "custom.y": 3 },
    faults: 1,
  });
});

test("of 10,000 lines as many are taken as there may be", () => {
  const text = Array.from({ length: 10_000 }, (_, n) => `n_${n} ${n}`).join("\n");
  const { values, faults } = parsePrometheusText(text, 200);
  expect([Object.keys(values).length, faults]).toEqual([200, 9_800]);
});

test("a line that is made to be read slowly is not", () => {
  const text = `x{${'a="\\\\",'.repeat(9_000)} 1\n${"a ".repeat(30_000)}\nx{${" ".repeat(60_000)}`;
  expect(cpuMsOf(() => valuesOf(text))).toBeLessThan(1_000);
});

test.each<[what: string, line: string]>([
  ["spaces", `x${" ".repeat(65_000)}{`],
  ["spaces between labels and value", `x{a="b"}${" ".repeat(65_000)}{`],
  ["spaces of other languages", `x${"\u2003\t".repeat(32_000)}{`],
  ["labels without an end", `x{${'a="b",'.repeat(10_000)}`],
  ["quotes", `x{${'"'.repeat(65_001)}`],
  ["escapes", `x{a="${"\\".repeat(65_000)}`],
  ["digits", `x ${"1".repeat(65_000)}#`],
  ["digits before a letter", `x ${"1".repeat(65_000)}x`],
  ["digits of a fraction before a letter", `x 1.${"1".repeat(65_000)}x`],
])("a line of 64 KiB of %s holds nobody up", (_what, line) => {
  expect(cpuMsOf(() => expect(parsePrometheusText(line, 200).faults).toBe(1))).toBeLessThan(200);
});
