/** Campaigns: the list record and the details answer (rule R9.7). */
import { CAMPAIGN_CHANNELS, CAMPAIGN_STATUSES } from '#shared/events/entities/campaign.ts';
import examples from './examples.json' with { type: 'json' };
import { Id, LocalDateTime, nullable, record, Text, Whole, words } from './fields.ts';

export const CampaignStatus = words('CampaignStatus', CAMPAIGN_STATUSES, 'How far a campaign is.');

const summary = {
  id: Id,
  name: Text,
  channel: words('CampaignChannel', CAMPAIGN_CHANNELS, 'How its messages are sent.'),
  status: CampaignStatus,
  starts_at: nullable(LocalDateTime),
  ends_at: nullable(LocalDateTime),
  created_at: LocalDateTime,
  updated_at: LocalDateTime,
};

export const CampaignSummary = record(
  'CampaignSummary',
  'A campaign, as lists show it.',
  summary,
  examples.campaign,
);

export const Campaign = record(
  'Campaign',
  'A campaign, whole.',
  {
    ...summary,
    message: nullable(Text, 'What is sent.'),
    audience: nullable(Text, 'Whom it is sent to, in words.'),
    coupon_id: nullable(Id, 'The coupon that it promotes.'),
    sent_count: nullable(Whole),
    delivered_count: nullable(Whole),
    converted_count: nullable(Whole, 'How many orders came of it.'),
  },
  examples.campaign,
);
