/** A burger house, open from noon to night. */
import type { Cuisine } from './cuisine.ts';
import { DRINKS } from './drinks.ts';
import { FESTA_JUNINA } from './seasonal.ts';

const CHOICES = ['ponto', 'adicionais'];

export const hamburgueria: Cuisine = {
  key: 'hamburgueria',
  names: ['{} Burger', 'Hamburgueria {}', 'Brasa {}'],
  opens: {
    days: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'],
    from: '11:30',
    to: '23:00',
  },
  minimumOrder: 2000,
  indoor: true,
  categories: [
    {
      name: 'Hambúrgueres',
      description: 'Carne moída na casa todos os dias',
      products: [
        {
          name: 'Clássico',
          description: 'Pão brioche, 160 g de carne, queijo, alface e tomate',
          price: 2890,
          groups: CHOICES,
        },
        {
          name: 'Bacon duplo',
          description: 'Duas carnes de 160 g, cheddar e bacon crocante',
          price: 3990,
          groups: CHOICES,
        },
        {
          name: 'Da roça',
          description: 'Carne de 160 g, queijo minas, couve frita e linguiça',
          price: 3690,
          groups: CHOICES,
        },
        {
          name: 'Vegetariano',
          description: 'Hambúrguer de grão-de-bico, rúcula e tomate seco',
          price: 3290,
          groups: ['adicionais'],
        },
      ],
    },
    {
      name: 'Porções',
      products: [
        {
          name: 'Batata frita',
          description: 'Porção de 400 g com maionese da casa',
          price: 2190,
          groups: ['molhos'],
          serves: 2,
        },
        { name: 'Anéis de cebola', description: 'Dez unidades empanadas', price: 2390, groups: ['molhos'] },
      ],
    },
    {
      name: 'Sobremesas',
      products: [
        { name: 'Milk-shake de morango', description: '500 ml com chantili', price: 1890 },
        { name: 'Brownie', description: 'Com calda de chocolate e castanhas', price: 1490 },
      ],
    },
    DRINKS,
    FESTA_JUNINA,
  ],
  optionGroups: {
    ponto: {
      name: 'Ponto da carne',
      min: 1,
      max: 1,
      priceMethod: 'sum',
      options: [
        ['Malpassada', 0],
        ['Ao ponto', 0],
        ['Bem-passada', 0],
      ],
    },
    adicionais: {
      name: 'Adicionais',
      min: 0,
      max: 4,
      priceMethod: 'sum',
      options: [
        ['Bacon', 500],
        ['Cheddar', 400],
        ['Ovo', 300],
        ['Cebola caramelizada', 350],
        ['Hambúrguer extra', 1200, '160 g'],
      ],
    },
    molhos: {
      name: 'Molhos',
      min: 0,
      max: 2,
      priceMethod: 'sum',
      options: [
        ['Barbecue', 250],
        ['Alho', 250],
        ['Pimenta', 200],
      ],
    },
  },
};
