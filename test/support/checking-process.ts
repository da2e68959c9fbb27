/**
 * Runs an orchestrator over a folder a week later: `checking-process.ts <folder> <ms since 1970>`. Says up to which event the pass over its
 * audit log has come when that is first noted, and stands still there until it is killed: one that went on would be done with the pass
 * before a busy machine comes to kill it.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { AuditCheck } from "../../lib/audit/check-record.ts";
import { FileStorage } from "../../lib/index.ts";
import { createTestOrchestrator, FakeClock } from "../../lib/testing/index.ts";

const [folder = "", startMs = ""] = process.argv.slice(2);
const clock = new FakeClock(Number(startMs));
const storage = new FileStorage({
  folder,
  clock,
  segmentBytes: 65_536,
  minJournalBytes: 65_536,
  logSegmentBytes: 16_384,
});
await createTestOrchestrator({ storage, clock });
clock.leap(7 * 24 * 3_600_000);
let noted = 0;
while (noted === 0) {
  // The disk takes its time: a clock that ran ahead of it would have the lease of the check end with each page.
  await pause(1);
  await clock.advance(100);
  const check = await storage.get<AuditCheck>("settings", "audit_check");
  noted = check?.value.pass?.sequence ?? 0;
}
process.stdout.write(`${noted}\n`);
process.kill(process.pid, "SIGSTOP");
