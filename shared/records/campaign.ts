/** A campaign (rule R9.7). */
import { summaryAndWhole } from './components.ts';
import { filtered, id, instant, name, oneOf, prose, updatedAt, whole } from './field.ts';
import { describeRecord } from './record.ts';

export const CAMPAIGN_CHANNELS = ['whatsapp', 'sms', 'email', 'push'] as const;
export const CAMPAIGN_STATUSES = [
  'draft',
  'scheduled',
  'running',
  'finished',
  'cancelled',
] as const;
export const campaignStatus = oneOf(
  'CampaignStatus',
  CAMPAIGN_STATUSES,
  'The state of a campaign.',
);

export const campaign = describeRecord(
  {
    name: name.required(),
    channel: oneOf('CampaignChannel', CAMPAIGN_CHANNELS, 'How its messages are sent.').required(),
    status: filtered(campaignStatus.required()),
    starts_at: instant.optional(),
    ends_at: instant.optional(),
    created_at: instant.required(),
    updated_at: updatedAt(),
  },
  {
    message: prose.optional('The text that is sent.'),
    audience: prose.optional('The recipients, in words.'),
    coupon_id: id.optional('The coupon that it promotes.'),
    sent_count: whole.optional(),
    delivered_count: whole.optional(),
    converted_count: whole.optional('How many orders it led to.'),
  },
);

export const [CampaignSummary, Campaign] = summaryAndWhole(
  'Campaign',
  'A campaign',
  campaign,
  'campaign',
);
