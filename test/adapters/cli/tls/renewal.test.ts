/** Certificates that are renewed while the server runs, by files that somebody else writes. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { OrchestratorError } from "fleetwright/errors";
import { FakeClock } from "fleetwright/testing";
import { GivenCertificate } from "../../../../adapters/cli/work/tls/certificate-source.ts";
import { CertificateRenewal } from "../../../../adapters/cli/work/tls/renewal.ts";
import type { Certificate } from "../../../../adapters/h3/serve.ts";
import { createCertificate } from "../../../support/certificate.ts";
import { settle } from "../../../support/deferred.ts";
import { RecordingLogger } from "../../../support/recording-logger.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

async function scene() {
  const folder = temporaryFolder();
  const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const write = (pair: Partial<Certificate>): void => {
    if (pair.cert !== undefined) writeFileSync(cert, pair.cert);
    if (pair.key !== undefined) writeFileSync(key, pair.key);
  };
  const [first, second] = [await createCertificate(), await createCertificate()];
  write(first);
  const source = new GivenCertificate({ cert: { text: "", file: cert }, key: { text: "", file: key } });
  const clock = new FakeClock(Date.now());
  const logger = new RecordingLogger();
  const shown: Certificate[] = [];
  let isRefused = false;
  const server = {
    renewCertificate(given: Certificate) {
      if (isRefused) {
        isRefused = false;
        throw new OrchestratorError("CONFIGURATION_INVALID", { message: "Not now." });
      }
      // As TLS does.
      if ((given.cert === first.cert) !== (given.key === first.key))
        throw new OrchestratorError("CONFIGURATION_INVALID", { message: "They don't belong together." });
      shown.push(given);
    },
  };
  const renewal = new CertificateRenewal({ server, source, shown: await source.read(), clock, logger });
  onTestFinished(() => renewal.stop());
  const look = async (seconds = 10): Promise<void> => {
    await clock.advance(seconds * 1_000);
    await settle();
  };
  const told = (): string[] => logger.lines.map(({ message }) => message);
  const refuseOnce = (): void => void (isRefused = true);
  return { first, second, write, shown, look, told, renewal, cert, refuseOnce, logger };
}

test("a pair that changed is shown within 10 seconds, once; what stays is not shown again", async () => {
  const { second, write, shown, look } = await scene();
  await look();
  expect(shown).toEqual([]);
  write(second);
  await look();
  await look();
  expect(shown).toEqual([second]);
});

test("half a pair is told once and the one before stays, until the other half is there", async () => {
  const { second, write, shown, look, told } = await scene();
  write({ cert: second.cert });
  await look();
  await look();
  expect(shown).toEqual([]);
  expect(told().filter((line) => line.includes("can't be used"))).toHaveLength(1);
  write({ key: second.key });
  await look();
  expect(shown).toEqual([second]);
});

test.each([
  ["the certificate", { cert: "" }],
  ["the key", { key: "" }],
  ["both", { cert: "", key: "" }],
])("where %s is empty, as a file that is being written, the one before stays", async (_, empty) => {
  const { first, second, write, shown, look, told } = await scene();
  write(empty);
  await look();
  await look();
  expect(shown).toEqual([]);
  expect(told().filter((line) => line.includes("can't be used"))).toHaveLength(1);
  write(second);
  await look();
  write(first);
  await look();
  expect(shown).toEqual([second, first]);
});

test("a file that is gone is told, and comes back", async () => {
  const { first, second, write, shown, look, told, cert } = await scene();
  rmSync(cert);
  await look();
  write(second);
  await look();
  write(first);
  await look();
  expect(shown).toEqual([second, first]);
  expect(told().filter((line) => line.includes("can't be used"))).toHaveLength(1);
});

test("an end that is near is told once a day, and an end that has come as well", async () => {
  // Good for two days.
  const { look, told } = await scene();
  const ends = (): number =>
    told().filter((line) => line === "The certificate of the server ends soon.").length;
  expect(ends()).toBe(1);
  for (let turn = 0; turn < 24; turn += 1) await look(3_600);
  expect(ends()).toBe(2);
  for (let turn = 0; turn < 26; turn += 1) await look(3_600);
  expect(told()).toContain("The certificate of the server has ended.");
});

test("one that was stopped looks no more", async () => {
  const { second, write, shown, look, renewal } = await scene();
  renewal.stop();
  write(second);
  await look(3_600);
  expect(shown).toEqual([]);
});

test("a pair that the server could not take is tried again, and then shown", async () => {
  const { second, write, shown, look, told, refuseOnce } = await scene();
  refuseOnce();
  write(second);
  await look();
  expect(shown).toEqual([]);
  expect(told().length).toBeGreaterThan(0);
  await look();
  expect(shown).toEqual([second]);
});

test("the same fault is told again once a pair between was shown, or the files were as they are shown", async () => {
  const { first, second, write, shown, look, told } = await scene();
  const faults = (): number => told().filter((line) => line.includes("can't be used")).length;
  write({ cert: "" });
  await look();
  write(first);
  await look();
  write({ cert: "" });
  await look();
  expect([faults(), shown]).toEqual([2, []]);
  write(second);
  await look();
  write({ cert: "" });
  await look();
  await look();
  expect([faults(), shown]).toEqual([3, [second]]);
});

test("a new certificate that is cut short is told as that, not in the words of OpenSSL", async () => {
  const { second, write, look, logger } = await scene();
  write({ cert: second.cert.slice(0, 300) });
  await look();
  expect(logger.lines.at(-1)?.fields).toMatchObject({
    fault: "The certificate is not there as PEM text, or not whole.",
  });
});
