/** Reviews of orders that have come to their end: most are content, some are not, and some of them get a reply. */
import type { ReviewState } from '#shared/events/entities/review.ts';
import { instant } from '../instant.ts';
import { type Chance, happens, pick } from '../random.ts';
import type { SimulatedOrder } from './order.ts';

export interface SimulatedReview {
  id: string;
  /** Without its reply. */
  state: ReviewState;
  reply: string | null;
}

const REVIEWED_PERCENT = 35;

/** As in life: the content and the angry write, those between seldom do. */
const RATINGS = [
  { weight: 62, value: 5 },
  { weight: 18, value: 4 },
  { weight: 8, value: 3 },
  { weight: 4, value: 2 },
  { weight: 8, value: 1 },
];

/** What people say, and what the store answers. */
const GLAD = {
  comments: [
    'Muito bom, chegou quentinho!',
    'Melhor da região, sempre peço.',
    'Entrega rápida e bem embalado.',
    'Tudo perfeito, como sempre.',
    'Porção caprichada, recomendo.',
    'Adorei! Já é o preferido aqui em casa.',
  ],
  replies: ['Obrigado pelo carinho! Até a próxima.', 'Que bom que gostou! Volte sempre.'],
  silent: 50,
  replied: 25,
};
const LUKEWARM = {
  comments: [
    'Gostoso, mas demorou mais que o previsto.',
    'Bom, só achei pouco recheio.',
    'Já foi melhor, mas ainda vale a pena.',
    'Veio sem os talheres que pedi.',
  ],
  replies: ['Obrigado pelo retorno, vamos caprichar mais na próxima!'],
  silent: 30,
  replied: 40,
};
const ANGRY = {
  comments: [
    'Chegou frio e com mais de uma hora de atraso.',
    'Veio errado e ninguém atendeu o telefone.',
    'Faltou item no pedido.',
    'Embalagem aberta, vazou tudo na sacola.',
  ],
  replies: [
    'Pedimos desculpas pelo ocorrido. Já falamos com a equipe e enviamos um cupom para você.',
    'Sentimos muito! Chame a gente no WhatsApp para resolvermos.',
  ],
  silent: 15,
  replied: 70,
};

/** What the customer of a concluded order writes; `null` where nobody does. */
export function orderReview(
  chance: Chance,
  order: SimulatedOrder,
  createdAt: number,
): SimulatedReview | null {
  const { customer } = order.placed;
  if (!isReviewable(order) || !customer || !happens(chance, REVIEWED_PERCENT)) return null;
  const rating = chance.helpers.weightedArrayElement(RATINGS);
  const mood = rating > 3 ? GLAD : rating === 3 ? LUKEWARM : ANGRY;
  return {
    id: `r-${order.id}`,
    state: {
      order_id: order.id,
      customer_id: customer.id,
      customer_name: customer.name ?? null,
      rating,
      comment: happens(chance, mood.silent) ? null : pick(chance, mood.comments),
      reply: null,
      replied_at: null,
      created_at: instant(createdAt),
    },
    reply: happens(chance, mood.replied) ? pick(chance, mood.replies) : null,
  };
}

/** The review once the store has replied. */
export function repliedReview({ state, reply }: SimulatedReview, repliedAt: number): ReviewState {
  return { ...state, reply, replied_at: instant(repliedAt) };
}

function isReviewable({ journey }: SimulatedOrder): boolean {
  return journey.steps.at(-1)?.status === 'concluded';
}
