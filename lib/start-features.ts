/** The order in which features take up their work, before agents are let in: each after those that it knows. */
import type { Services } from "./services.ts";

/** Ends something that was started. Called in reverse order. */
export type End = () => Promise<void> | void;

/**
 * Takes up what was open when the process ended.
 *
 * @param parts.secret - Of the orchestrator, 32 bytes.
 * @param parts.ends - Where the end of each is put, also where a later one does not start.
 */
export async function startFeatures(
  services: Services,
  { secret, ends }: { secret: Uint8Array; ends: End[] },
): Promise<void> {
  const {
    agents,
    audit,
    drift,
    events,
    idempotency,
    maintenance,
    metrics,
    notifications,
    operations,
    rollouts,
  } = services;
  ends.push(await services.secrets.start(secret));
  await agents.load();
  await maintenance.load();
  ends.push(() => maintenance.stop());
  const openRollouts = await rollouts.load();
  ends.push(() => operations.stop());
  await operations.start(openRollouts > 0);
  ends.push(() => rollouts.stop());
  rollouts.start();
  maintenance.start();
  ends.push(() => drift.stop());
  ends.push(audit.keep(), events.keepRetention(), operations.retention.keep());
  ends.push(rollouts.retention.keep(), agents.keepPending());
  ends.push(await agents.tellOffline());
  ends.push(await idempotency.start(secret));
  ends.push(() => metrics.stop());
  await metrics.start();
  ends.push(await services.thresholds.start());
  ends.push(await services.terminals.start());
  ends.push(await notifications.start());
}
