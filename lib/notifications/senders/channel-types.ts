import { discordChannelType } from "./discord.ts";
import { emailChannelType } from "./email.ts";
import { ntfyChannelType } from "./ntfy.ts";
import type { ChannelType } from "./sender.ts";
import { slackChannelType } from "./slack.ts";
import { syslogChannelType } from "./syslog.ts";
import { teamsChannelType } from "./teams.ts";
import { webhookChannelType } from "./webhook.ts";

/** The types of channels that are built in, by their names. */
export const channelTypes: Readonly<Record<string, ChannelType>> = {
  webhook: webhookChannelType,
  email: emailChannelType,
  slack: slackChannelType,
  discord: discordChannelType,
  teams: teamsChannelType,
  ntfy: ntfyChannelType,
  syslog: syslogChannelType,
};
