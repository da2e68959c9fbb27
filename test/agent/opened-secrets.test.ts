/** Secrets of an operation as its agent opens them: put where they are worked with, in the form that was asked for. */
import { expect, it } from "vitest";
import { nodeCrypto, silentLogger } from "fleetwright";
import { createOpenSecrets, openNoSecrets, withoutSecrets } from "../../lib/agent/operation-secrets.ts";
import { Redactor } from "../../lib/secret-format/redactor.ts";
import { type OperationSecrets, sealSecrets } from "../../lib/secret-format/sealed-secrets.ts";
import { uuid } from "../support/agent-commands.ts";

const box = nodeCrypto.createExchangeKeyPair();
const node_id = "0".repeat(32);
const placeholder = (form: string): string => `$secret$db@1$${form}$${"0".repeat(32)}$`;

function sealed(secrets: OperationSecrets, about: { nodeId?: string; operationId?: string } = {}) {
  const { nodeId = node_id, operationId = uuid(1) } = about;
  return sealSecrets(secrets, { crypto: nodeCrypto, boxKey: box.publicKey, nodeId, operationId });
}

const open = createOpenSecrets({ node_id, box }, nodeCrypto);
const places = (...forms: string[]) => forms.map((form) => ({ text: placeholder(form), form, value: 0 }));

it("stand in properties in the form that was asked for, and are taken out of what is told", () => {
  const value = "it's a secret/é";
  const secrets = sealed({
    values: [Buffer.from(value)],
    places: places("text", "json", "shell", "base64", "url"),
  });
  const { reveal, redactor } = open({ operation_id: uuid(1), secrets });
  const spec = { a: `x ${placeholder("text")} y`, b: [placeholder("json"), placeholder("shell")] };
  expect(reveal!({ ...spec, c: placeholder("base64"), d: placeholder("url"), e: 1 })).toEqual({
    a: `x ${value} y`,
    b: [JSON.stringify(value), `'it'\\''s a secret/é'`],
    c: Buffer.from(value).toString("base64"),
    d: "it's+a+secret%2F%C3%A9",
    e: 1,
  });
  expect(redactor.isEmpty).toBe(false);
  expect(redactor.redact(`It said ${value}.`)).not.toContain(value);
});

const unavailable = (message: string): unknown =>
  expect.objectContaining({ code: "SECRET_UNAVAILABLE", message });

it("are refused where they can't be written as was asked, or are not there", () => {
  const bytes = Uint8Array.of(0xff, 0xfe);
  const refused = unavailable("A secret can't be written in the form that a module asks for.");
  for (const secrets of [
    { values: [bytes], places: places("text") },
    { values: [bytes], places: places("base64", "json") },
    { values: [bytes], places: [{ ...places("base64")[0]!, value: 1 }] },
    { values: [Buffer.from("x")], places: places("form of a later version") },
  ])
    expect(() => open({ operation_id: uuid(1), secrets: sealed(secrets) })).toThrow(refused as Error);
  expect(
    open({ operation_id: uuid(1), secrets: sealed({ values: [bytes], places: places("base64") }) }),
  ).toBeDefined();
});

it("of another operation or agent do not open", () => {
  const secrets = { values: [Buffer.from("x")], places: [] };
  const refused = unavailable("The secrets of the operation are not sealed to this agent.");
  for (const about of [{ operationId: uuid(2) }, { nodeId: "1".repeat(32) }])
    expect(() => open({ operation_id: uuid(1), secrets: sealed(secrets, about) })).toThrow(refused as Error);
});

it("are no affair of an operation that has none, and refused by who has no keys", () => {
  for (const opens of [open, openNoSecrets]) {
    const { reveal, redactor } = opens({ operation_id: uuid(1) });
    expect([reveal, redactor.isEmpty]).toEqual([undefined, true]);
  }
  const secrets = sealed({ values: [], places: [] });
  expect(() => openNoSecrets({ operation_id: uuid(1), secrets })).toThrow(
    unavailable("This agent can't open secrets.") as Error,
  );
});

it("leave a logger as it is where there are none", () => {
  expect(withoutSecrets(silentLogger, new Redactor([]))).toBe(silentLogger);
  expect(withoutSecrets(silentLogger, new Redactor([Buffer.from("a secret")]))).not.toBe(silentLogger);
});
