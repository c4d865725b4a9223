/** Campaigns: the list record and the details answer (rule R9.7). */
import { CAMPAIGN_CHANNELS, CAMPAIGN_STATUSES } from '#shared/events/entities/campaign.ts';
import { Id, LocalDateTime, nullable, record, Text, Whole, words } from './fields.ts';

const example = {
  id: 'm12',
  name: 'Volta do feriado',
  channel: 'whatsapp',
  status: 'finished',
  starts_at: '2026-11-16T18:00:00',
  ends_at: '2026-11-16T21:00:00',
  created_at: '2026-11-12T11:20:09',
  updated_at: '2026-11-16T21:00:03',
};

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

export const CampaignSummary = record('CampaignSummary', 'A campaign, as lists show it.', summary, example);

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
  {
    ...example,
    message: 'Saudade da nossa pizza? Use PIZZA15 e ganhe 15% de desconto.',
    audience: 'Clientes sem pedidos há 30 dias',
    coupon_id: 'k15',
    sent_count: 840,
    delivered_count: 811,
    converted_count: 57,
  },
);
