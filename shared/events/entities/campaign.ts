/** The state of a campaign, as `store-data.campaign.changed` carries it (rules R9.7, R12.3). */
import { Type } from 'typebox';
import { absent, Id, Instant, Name, Prose, Whole } from '../fields.ts';

export const CAMPAIGN_CHANNELS = ['whatsapp', 'sms', 'email', 'push'] as const;
export const CAMPAIGN_STATUSES = ['draft', 'scheduled', 'running', 'finished', 'cancelled'] as const;

export const CampaignState = Type.Object({
  name: Name,
  channel: Type.Enum([...CAMPAIGN_CHANNELS]),
  status: Type.Enum([...CAMPAIGN_STATUSES]),
  starts_at: absent(Instant),
  ends_at: absent(Instant),
  message: absent(Prose),
  audience: absent(Prose),
  coupon_id: absent(Id),
  sent_count: absent(Whole),
  delivered_count: absent(Whole),
  converted_count: absent(Whole),
  created_at: Instant,
  updated_at: absent(Instant),
});
export type CampaignState = Type.Static<typeof CampaignState>;
