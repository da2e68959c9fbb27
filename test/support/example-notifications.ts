/** The example calls about maintenance windows, and notifications and channels, with a receiver that takes every message. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { systemCaller } from "fleetwright";
import type { TestOrchestrator } from "fleetwright/testing";
import { settleAll } from "./deferred.ts";
import { eventOf } from "./fleet.ts";
import { waitFor } from "./wait-for.ts";

type Json = Record<string, unknown>;

interface Session {
  product: TestOrchestrator;
  call(procedure: string, parameters?: Json, body?: Json): Promise<Json>;
}

/** Plays the calls about maintenance windows. */
export async function playWindows({ call }: Session): Promise<void> {
  const schedule = { cron: "0 2 * * 6", time_zone: "Europe/Berlin", duration_minutes: 120 };
  const window = { reason: "The database moves", selector: "role=db", mode: "freeze", schedule };
  const { id } = await call("maintenanceWindows.create", {}, window);
  await call("maintenanceWindows.update", { id }, { mode: "mute", ends_at: "2031-01-01T00:00:00.000Z" });
  await call("maintenanceWindows.list", { limit: 10 });
  await call("maintenanceWindows.get", { id });
  await call("maintenanceWindows.remove", { id });
}

/** Plays the calls about thresholds. */
export async function playThresholds(session: Pick<Session, "call">): Promise<void> {
  const call: Session["call"] = (...given) => session.call(...given);
  const disk = { metric: "mount.used_bytes", percent_of: "mount.total_bytes", condition: "above", value: 90 };
  const { id } = await call("thresholds.create", {}, { name: "Disk full", ...disk, recovery_value: 85 });
  await call("thresholds.update", { id }, { severity: "critical", selector: "role=db" });
  await call("thresholds.list", { limit: 10 });
  await call("thresholds.get", { id });
  await call("thresholds.alarms", { severity: "critical" });
  await call("thresholds.remove", { id });
}

/** Plays them; whoever is called `hopper` is added on the way. */
export async function playNotifications({ product, call }: Session): Promise<void> {
  const { orchestrator, clock } = product;
  const receiver = createServer((request, response) => {
    request.resume();
    response.end();
  });
  await once(receiver.listen(0, "127.0.0.1"), "listening");
  const { port } = receiver.address() as AddressInfo;
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const config = { url: "https://hooks.example.com/fleet", secret };
  const channel = { name: "On call", type: "webhook", config, events: ["operator.*"], min_severity: "info" };
  const { id } = await call("channels.create", {}, channel);
  const changed = { name: "On call, Berlin", config: { ...config, secret: "********" } };
  await call("channels.update", { id }, changed);
  await orchestrator.channels.update(systemCaller, {
    id: id as string,
    config: { url: `http://127.0.0.1:${port}/`, secret },
  });
  await call("channels.test", { id });
  const { operator_id } = await orchestrator.operators.add(systemCaller, {
    username: "hopper",
    role: "Viewer",
    public_key: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
  });
  await eventOf(product, "operator.added", operator_id);
  // The quiet seconds after which it is told; from then on time stands still, for an answer says when the message arrived.
  await settleAll();
  await clock.advance(2_000);
  await waitFor(async () => {
    const { items } = await orchestrator.channels.deliveries(systemCaller, { id: id as string });
    if (items[0]?.status !== "delivered") throw new Error("nothing is delivered yet");
  });
  await orchestrator.channels.update(systemCaller, { id: id as string, config });
  await call("channels.list", { limit: 10 });
  await call("channels.get", { id });
  const { items } = await call("channels.deliveries", { id, status: "delivered", limit: 1 });
  const [delivery] = items as { id: string }[];
  await orchestrator.channels.update(systemCaller, { id: id as string, enabled: false });
  await call("channels.redeliver", { id, delivery_id: delivery!.id });
  await call("channels.remove", { id });
  const { items: notifications } = await call("notifications.list", { unread: true, limit: 1 });
  await call("notifications.read", { id: (notifications as { id: string }[])[0]!.id });
  await call("notifications.readAll");
  await call("notifications.updatePreferences", undefined, { muted_events: ["agent.online", "drift.*"] });
  await call("notifications.preferences");
  await new Promise((done) => receiver.close(done));
}
