/** Customers (rule R9.5), reviews (R9.6) and campaigns (R9.7). */
import { Type } from 'typebox';
import examples from './examples.json' with { type: 'json' };
import {
  Address,
  described,
  Flag,
  Id,
  LocalDateTime,
  nullable,
  record,
  Text,
  Whole,
  enumOf,
} from './fields.ts';
import { CAMPAIGN_CHANNELS, CAMPAIGN_STATUSES } from '#shared/events/entities.ts';

const BirthDate = Type.String({ format: 'date' });

export const Customer = record(
  'Customer',
  'A customer of the store. This is personal data: the LGPD applies to whoever stores it.',
  {
    id: Id,
    name: Text,
    document: nullable(Text, 'The CPF or CNPJ, as the store writes it.'),
    phone: nullable(Text),
    email: nullable(Text),
    birth_date: nullable(BirthDate, 'A calendar date, `YYYY-MM-DD`.'),
    accepts_marketing: described(Flag, 'Whether the customer agreed to be sent campaigns.'),
    addresses: Type.Array(Address),
    created_at: LocalDateTime,
    updated_at: LocalDateTime,
  },
  examples.customer,
);

/** From 1 to 5 stars, as filters ask for them too. */
export const Rating = Type.Integer({
  title: 'Rating',
  description: 'Stars, 5 the best.',
  minimum: 1,
  maximum: 5,
});

const reviewFields = {
  id: Id,
  order_id: nullable(Id, 'The order that it is about.'),
  customer_id: nullable(Id),
  customer_name: nullable(Text, '`null` also where the customer was deleted.'),
  rating: Rating,
  comment: nullable(Text),
  created_at: described(LocalDateTime, 'When the customer wrote it.'),
};

export const ReviewSummary = record(
  'ReviewSummary',
  'A review, as lists show it.',
  reviewFields,
  examples.review,
);

export const Review = record(
  'Review',
  'A review, whole.',
  {
    ...reviewFields,
    reply: nullable(Text, 'What the store answered.'),
    replied_at: nullable(LocalDateTime, 'When the store answered.'),
  },
  examples.review,
);

export const CampaignStatus = enumOf('CampaignStatus', CAMPAIGN_STATUSES, 'How far a campaign is.');

const campaignFields = {
  id: Id,
  name: Text,
  channel: enumOf('CampaignChannel', CAMPAIGN_CHANNELS, 'How its messages are sent.'),
  status: CampaignStatus,
  starts_at: nullable(LocalDateTime),
  ends_at: nullable(LocalDateTime),
  created_at: LocalDateTime,
  updated_at: LocalDateTime,
};

export const CampaignSummary = record(
  'CampaignSummary',
  'A campaign, as lists show it.',
  campaignFields,
  examples.campaign,
);

export const Campaign = record(
  'Campaign',
  'A campaign, whole.',
  {
    ...campaignFields,
    message: nullable(Text, 'What is sent.'),
    audience: nullable(Text, 'Whom it is sent to, in words.'),
    coupon_id: nullable(Id, 'The coupon that it promotes.'),
    sent_count: nullable(Whole),
    delivered_count: nullable(Whole),
    converted_count: nullable(Whole, 'How many orders came of it.'),
  },
  examples.campaign,
);
