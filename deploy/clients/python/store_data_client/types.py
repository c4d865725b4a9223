# Written from docs/openapi.json by `npm run clients`.
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Iterator, List, Literal, Protocol, Sequence, TypedDict, TypeVar, overload

if TYPE_CHECKING:
    from . import Conditional

T = TypeVar("T")


Kind = Literal["store", "order", "customer", "review", "campaign", "coupon", "category", "product", "option-group"]


class Address(TypedDict):
    """A postal address in Brazil; each field is `null` if it is not known."""

    street: str | None
    number: str | None
    complement: str | None
    # The neighbourhood (bairro).
    district: str | None
    city: str | None
    # As the store writes it, usually the two letters of the state.
    state: str | None
    # The CEP, as the store writes it.
    postal_code: str | None
    # A landmark for the courier.
    reference: str | None
    latitude: float | None
    longitude: float | None


class Campaign(TypedDict):
    """A campaign, whole."""

    id: Id
    name: str
    channel: CampaignChannel
    status: CampaignStatus
    starts_at: LocalDateTime | None
    ends_at: LocalDateTime | None
    created_at: LocalDateTime
    updated_at: LocalDateTime
    # The text that is sent.
    message: str | None
    # The recipients, in words.
    audience: str | None
    # The coupon that it promotes.
    coupon_id: Id | None
    sent_count: int | None
    delivered_count: int | None
    # How many orders it led to.
    converted_count: int | None


CampaignChannel = Literal["whatsapp", "sms", "email", "push"]


CampaignStatus = Literal["draft", "scheduled", "running", "finished", "cancelled"]


class CampaignSummary(TypedDict):
    """A campaign, as lists show it."""

    id: Id
    name: str
    channel: CampaignChannel
    status: CampaignStatus
    starts_at: LocalDateTime | None
    ends_at: LocalDateTime | None
    created_at: LocalDateTime
    updated_at: LocalDateTime


class Category(TypedDict):
    """A category, whole."""

    id: Id
    name: str
    description: str | None
    # Its place in the menu, smallest first.
    position: int
    # Whether it is on sale.
    active: bool
    image_url: str | None
    created_at: LocalDateTime | None
    updated_at: LocalDateTime
    # How many products name it, those that are not active included.
    product_count: int


class CategoryRecord(TypedDict):
    """A category with all that belongs to itself."""

    id: Id
    name: str
    description: str | None
    # Its place in the menu, smallest first.
    position: int
    # Whether it is on sale.
    active: bool
    image_url: str | None
    created_at: LocalDateTime | None
    updated_at: LocalDateTime


class CategorySummary(TypedDict):
    """A category, as lists show it."""

    id: Id
    name: str
    description: str | None
    # Its place in the menu, smallest first.
    position: int
    # Whether it is on sale.
    active: bool
    image_url: str | None


class Coupon(TypedDict):
    """A coupon, whole."""

    id: Id
    # What the customer enters.
    code: str
    description: str | None
    discount_type: DiscountType
    # A percentage is written like an amount: `15.00` is 15 %.
    discount_value: Money
    # The minimum total of an order.
    minimum_order_value: Money | None
    # Whether the store has switched it on.
    active: bool
    # From when it can be used.
    starts_at: LocalDateTime | None
    # Until when it can be used.
    ends_at: LocalDateTime | None
    created_at: LocalDateTime
    updated_at: LocalDateTime
    # The maximum discount on one order.
    maximum_discount: Money | None
    # How often all customers together can use it.
    usage_limit: int | None
    # How often it was used so far.
    usage_count: int | None
    # How often one customer can use it.
    per_customer_limit: int | None
    # The order types that it is valid for.
    order_types: List[OrderType]


class CouponSummary(TypedDict):
    """A coupon, as lists show it."""

    id: Id
    # What the customer enters.
    code: str
    description: str | None
    discount_type: DiscountType
    # A percentage is written like an amount: `15.00` is 15 %.
    discount_value: Money
    # The minimum total of an order.
    minimum_order_value: Money | None
    # Whether the store has switched it on.
    active: bool
    # From when it can be used.
    starts_at: LocalDateTime | None
    # Until when it can be used.
    ends_at: LocalDateTime | None
    created_at: LocalDateTime
    updated_at: LocalDateTime


class Customer(TypedDict):
    """A customer of the store."""

    id: Id
    name: str
    # The CPF or CNPJ, as the store writes it.
    document: str | None
    phone: str | None
    email: str | None
    # A calendar date, `YYYY-MM-DD`.
    birth_date: str | None
    # Whether the customer agreed to receive campaigns.
    accepts_marketing: bool
    addresses: List[Address]
    created_at: LocalDateTime
    updated_at: LocalDateTime


DiscountType = Literal["percentage", "fixed", "free_delivery"]


Id = str


LocalDateTime = str


class Menu(TypedDict):
    """What the store sells now: active categories, their active products and the options that can be chosen."""

    store_id: Id
    # The newest `updated_at` of the categories and products shown; `null` if none is.
    updated_at: LocalDateTime | None
    # In order of position.
    categories: List[MenuCategory]


class MenuCategory(TypedDict):
    """An active category that has an active product."""

    id: Id
    name: str
    description: str | None
    # Its place in the menu, smallest first.
    position: int
    # Whether it is on sale.
    active: bool
    image_url: str | None
    # The active ones, in order.
    products: List[MenuProduct]


class MenuProduct(TypedDict):
    """An active product of the menu."""

    id: Id
    # It may name a category that the store does not have (any more).
    category_id: Id | None
    name: str
    description: str | None
    # The price of one, without options.
    price: Money
    # Replaces `price`, if there is one.
    promotional_price: Money | None
    # Whether it is on sale.
    active: bool
    # Its place in the category, smallest first.
    position: int
    image_url: str | None
    # Its code in the store’s own system.
    external_code: str | None
    updated_at: LocalDateTime
    # In the order in which customers choose, with their active options alone.
    option_groups: List[OptionGroup]


Money = str


class OpeningHours(TypedDict):
    """One span of opening hours."""

    weekday: Weekday | None
    # Local store time, `HH:MM`.
    opens: str | None
    # Local store time, `HH:MM`; `24:00` is the end of the day.
    closes: str | None


class Option(TypedDict):
    """One choice of an option group."""

    # Unique within its group.
    id: Id
    name: str
    description: str | None
    # What it adds to the product’s price.
    price: Money
    # How often it can be chosen; `null`: as often as the group allows.
    max_quantity: int | None
    # Whether it is on sale.
    active: bool
    # Its place in the group, smallest first.
    position: int
    # Its code in the store’s own system.
    external_code: str | None


class OptionGroup(TypedDict):
    """Choices that go with a product, such as flavours or extras."""

    id: Id
    name: str
    # How many must be chosen.
    min: int
    # How many may be chosen.
    max: int
    price_method: PriceMethod | None
    position: int
    # Its code in the store’s own system.
    external_code: str | None
    # In order of position.
    options: List[Option]


class Order(TypedDict):
    """An order, whole."""

    id: Id
    # The number that the store and the customer see.
    display_id: str | None
    status: OrderStatus
    order_type: OrderType
    # Where it was placed, such as `app`, `site` or `whatsapp`.
    sales_channel: str | None
    # `null` if the order names nobody.
    customer: OrderCustomer | None
    # The sum of the items’ quantities.
    item_count: int
    # The items together.
    subtotal: Money | None
    delivery_fee: Money
    service_fee: Money
    discount: Money
    # What the customer pays.
    total: Money
    # When the customer wants it, if it was ordered ahead.
    scheduled_for: LocalDateTime | None
    # When it was placed.
    created_at: LocalDateTime
    # When it changed last.
    updated_at: LocalDateTime
    items: List[OrderItem]
    # `null` if nothing is delivered.
    delivery: OrderDelivery | None
    payments: List[OrderPayment]
    coupon: OrderCoupon | None
    # The statuses so far, oldest first as the store sends them.
    status_history: List[OrderStatusChange]
    cancellation: OrderCancellation | None
    notes: str | None


class OrderCancellation(TypedDict):
    """Why and when an order was cancelled."""

    reason: str | None
    at: LocalDateTime | None


class OrderCoupon(TypedDict):
    """The coupon that was used."""

    id: Id | None
    code: str | None


class OrderCustomer(TypedDict):
    """Who ordered."""

    id: Id
    # `null` also if the customer was deleted.
    name: str | None
    phone: str | None
    # The CPF or CNPJ for the receipt.
    document: str | None


class OrderCustomerSummary(TypedDict):
    """Who ordered."""

    id: Id
    # `null` also if the customer was deleted.
    name: str | None
    phone: str | None


class OrderDelivery(TypedDict):
    """Where an order goes, and when it should be there."""

    address: Address | None
    fee: Money | None
    estimated_at: LocalDateTime | None


class OrderItem(TypedDict):
    """One line of an order."""

    id: Id | None
    product_id: Id
    # The product’s code in the store’s own system.
    external_code: str | None
    # The product’s name when it was ordered.
    name: str
    quantity: int
    # The price of one, without options.
    unit_price: Money
    options: List[OrderItemOption]
    # What the customer asked for.
    notes: str | None
    # The line, options included.
    total: Money


class OrderItemOption(TypedDict):
    """An option that was chosen."""

    option_group_id: Id | None
    option_id: Id | None
    external_code: str | None
    name: str | None
    quantity: int | None
    unit_price: Money | None


class OrderPayment(TypedDict):
    """One payment of an order."""

    method: PaymentMethod | None
    type: PaymentType | None
    amount: Money | None
    # The cash that the customer has ready.
    change_for: Money | None


OrderStatus = Literal["pending", "confirmed", "preparing", "ready", "dispatched", "delivered", "concluded", "cancelled"]


class OrderStatusChange(TypedDict):
    """A status that an order has had."""

    status: OrderStatus | None
    at: LocalDateTime | None


class OrderSummary(TypedDict):
    """An order, as lists show it."""

    id: Id
    # The number that the store and the customer see.
    display_id: str | None
    status: OrderStatus
    order_type: OrderType
    # Where it was placed, such as `app`, `site` or `whatsapp`.
    sales_channel: str | None
    # `null` if the order names nobody.
    customer: OrderCustomerSummary | None
    # The sum of the items’ quantities.
    item_count: int
    # The items together.
    subtotal: Money | None
    delivery_fee: Money
    service_fee: Money
    discount: Money
    # What the customer pays.
    total: Money
    # When the customer wants it, if it was ordered ahead.
    scheduled_for: LocalDateTime | None
    # When it was placed.
    created_at: LocalDateTime
    # When it changed last.
    updated_at: LocalDateTime


OrderType = Literal["delivery", "takeout", "indoor"]


PaymentMethod = Literal["pix", "credit", "debit", "cash", "voucher", "other"]


PaymentType = Literal["prepaid", "on_delivery"]


PriceMethod = Literal["sum", "max", "average"]


class Product(TypedDict):
    """A product, whole."""

    id: Id
    # It may name a category that the store does not have (any more).
    category_id: Id | None
    name: str
    description: str | None
    # The price of one, without options.
    price: Money
    # Replaces `price`, if there is one.
    promotional_price: Money | None
    # Whether it is on sale.
    active: bool
    # Its place in the category, smallest first.
    position: int
    image_url: str | None
    # Its code in the store’s own system.
    external_code: str | None
    updated_at: LocalDateTime
    # The barcode.
    ean: str | None
    # How many people it serves.
    serves: int | None
    # In the order in which customers choose.
    option_groups: List[OptionGroup]
    created_at: LocalDateTime | None


class ProductRecord(TypedDict):
    """A product with all that belongs to itself."""

    id: Id
    # It may name a category that the store does not have (any more).
    category_id: Id | None
    name: str
    description: str | None
    # The price of one, without options.
    price: Money
    # Replaces `price`, if there is one.
    promotional_price: Money | None
    # Whether it is on sale.
    active: bool
    # Its place in the category, smallest first.
    position: int
    image_url: str | None
    # Its code in the store’s own system.
    external_code: str | None
    updated_at: LocalDateTime
    # The barcode.
    ean: str | None
    # How many people it serves.
    serves: int | None
    # The option groups that it names, each once, in the order in which customers choose; also those that the store does not have (any more).
    option_group_ids: List[Id]
    created_at: LocalDateTime | None


class ProductSummary(TypedDict):
    """A product, as lists show it."""

    id: Id
    # It may name a category that the store does not have (any more).
    category_id: Id | None
    name: str
    description: str | None
    # The price of one, without options.
    price: Money
    # Replaces `price`, if there is one.
    promotional_price: Money | None
    # Whether it is on sale.
    active: bool
    # Its place in the category, smallest first.
    position: int
    image_url: str | None
    # Its code in the store’s own system.
    external_code: str | None
    updated_at: LocalDateTime


Rating = int


class Review(TypedDict):
    """A review, whole."""

    id: Id
    # The order that it is about.
    order_id: Id | None
    customer_id: Id | None
    # `null` also if the customer was deleted.
    customer_name: str | None
    rating: Rating
    comment: str | None
    # When the customer wrote it.
    created_at: LocalDateTime
    # The store’s reply.
    reply: str | None
    # When the store replied.
    replied_at: LocalDateTime | None


class ReviewSummary(TypedDict):
    """A review, as lists show it."""

    id: Id
    # The order that it is about.
    order_id: Id | None
    customer_id: Id | None
    # `null` also if the customer was deleted.
    customer_name: str | None
    rating: Rating
    comment: str | None
    # When the customer wrote it.
    created_at: LocalDateTime


class StoreInfo(TypedDict):
    """The store that the key belongs to."""

    id: Id
    # The name that customers know.
    name: str
    # The registered name (razão social).
    legal_name: str | None
    # The CNPJ or CPF, as the store writes it.
    document: str | None
    phone: str | None
    email: str | None
    status: StoreStatus
    # Append it to any date-time of this store to get the instant.
    timezone_offset: TimezoneOffset
    # The currency of every amount.
    currency: Literal["BRL"]
    # The ways in which orders can be placed.
    order_types: List[OrderType]
    # The minimum total of an order.
    minimum_order_value: Money | None
    address: Address | None
    opening_hours: List[OpeningHours]
    created_at: LocalDateTime
    updated_at: LocalDateTime


StoreStatus = Literal["active", "blocked"]


TimezoneOffset = str


Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


class StoreChange(TypedDict):
    kind: Literal["store"]
    id: str
    deleted: bool
    record: StoreInfo | None


class StoreSummaryChange(TypedDict):
    kind: Literal["store"]
    id: str
    deleted: bool
    record: StoreInfo | None


class OrderChange(TypedDict):
    kind: Literal["order"]
    id: str
    deleted: bool
    record: Order | None


class OrderSummaryChange(TypedDict):
    kind: Literal["order"]
    id: str
    deleted: bool
    record: OrderSummary | None


class CustomerChange(TypedDict):
    kind: Literal["customer"]
    id: str
    deleted: bool
    record: Customer | None


class CustomerSummaryChange(TypedDict):
    kind: Literal["customer"]
    id: str
    deleted: bool
    record: Customer | None


class ReviewChange(TypedDict):
    kind: Literal["review"]
    id: str
    deleted: bool
    record: Review | None


class ReviewSummaryChange(TypedDict):
    kind: Literal["review"]
    id: str
    deleted: bool
    record: ReviewSummary | None


class CampaignChange(TypedDict):
    kind: Literal["campaign"]
    id: str
    deleted: bool
    record: Campaign | None


class CampaignSummaryChange(TypedDict):
    kind: Literal["campaign"]
    id: str
    deleted: bool
    record: CampaignSummary | None


class CouponChange(TypedDict):
    kind: Literal["coupon"]
    id: str
    deleted: bool
    record: Coupon | None


class CouponSummaryChange(TypedDict):
    kind: Literal["coupon"]
    id: str
    deleted: bool
    record: CouponSummary | None


class CategoryChange(TypedDict):
    kind: Literal["category"]
    id: str
    deleted: bool
    record: CategoryRecord | None


class CategorySummaryChange(TypedDict):
    kind: Literal["category"]
    id: str
    deleted: bool
    record: CategorySummary | None


class ProductChange(TypedDict):
    kind: Literal["product"]
    id: str
    deleted: bool
    record: ProductRecord | None


class ProductSummaryChange(TypedDict):
    kind: Literal["product"]
    id: str
    deleted: bool
    record: ProductSummary | None


class OptionGroupChange(TypedDict):
    kind: Literal["option-group"]
    id: str
    deleted: bool
    record: OptionGroup | None


class OptionGroupSummaryChange(TypedDict):
    kind: Literal["option-group"]
    id: str
    deleted: bool
    record: OptionGroup | None


class Batch(TypedDict):
    """Changes, oldest first. Store `next` together with what you make of them."""

    results: List[StoreChange | OrderChange | CustomerChange | ReviewChange | CampaignChange | CouponChange | CategoryChange | ProductChange | OptionGroupChange]
    timezone_offset: TimezoneOffset
    next: str
    more: bool


class SummaryBatch(TypedDict):
    """Changes, oldest first. Store `next` together with what you make of them."""

    results: List[StoreSummaryChange | OrderSummaryChange | CustomerSummaryChange | ReviewSummaryChange | CampaignSummaryChange | CouponSummaryChange | CategorySummaryChange | ProductSummaryChange | OptionGroupSummaryChange]
    timezone_offset: TimezoneOffset
    next: str
    more: bool


class CouponSummaryPage(TypedDict):
    count: int
    page: int
    page_size: int
    results: List[CouponSummary]


class CustomerPage(TypedDict):
    count: int
    page: int
    page_size: int
    results: List[Customer]


class OrderSummaryPage(TypedDict):
    count: int
    page: int
    page_size: int
    results: List[OrderSummary]


class ReviewSummaryPage(TypedDict):
    count: int
    page: int
    page_size: int
    results: List[ReviewSummary]


class CampaignSummaryPage(TypedDict):
    count: int
    page: int
    page_size: int
    results: List[CampaignSummary]


class CategorySummaryPage(TypedDict):
    count: int
    page: int
    page_size: int
    results: List[CategorySummary]


class ProductSummaryPage(TypedDict):
    count: int
    page: int
    page_size: int
    results: List[ProductSummary]


class OptionGroupPage(TypedDict):
    count: int
    page: int
    page_size: int
    results: List[OptionGroup]


class Coupons(Protocol):
    def list(self, *, active: bool | None = None, page_size: int = 100) -> Iterator[CouponSummary]: ...
    def pages(self, *, active: bool | None = None, page_size: int = 100) -> Iterator[CouponSummaryPage]: ...
    @overload
    def page(self, *, page: int = 1, active: bool | None = None, page_size: int = 100, if_none_match: None = None) -> CouponSummaryPage: ...
    @overload
    def page(self, *, page: int = 1, active: bool | None = None, page_size: int = 100, if_none_match: str) -> Conditional[CouponSummaryPage]: ...
    @overload
    def get(self, id: str, *, if_none_match: None = None) -> Coupon: ...
    @overload
    def get(self, id: str, *, if_none_match: str) -> Conditional[Coupon]: ...


class Customers(Protocol):
    def list(self, *, search: str | None = None, created_from: str | None = None, created_to: str | None = None, updated_from: str | None = None, updated_to: str | None = None, page_size: int = 100) -> Iterator[Customer]: ...
    def pages(self, *, search: str | None = None, created_from: str | None = None, created_to: str | None = None, updated_from: str | None = None, updated_to: str | None = None, page_size: int = 100) -> Iterator[CustomerPage]: ...
    @overload
    def page(self, *, page: int = 1, search: str | None = None, created_from: str | None = None, created_to: str | None = None, updated_from: str | None = None, updated_to: str | None = None, page_size: int = 100, if_none_match: None = None) -> CustomerPage: ...
    @overload
    def page(self, *, page: int = 1, search: str | None = None, created_from: str | None = None, created_to: str | None = None, updated_from: str | None = None, updated_to: str | None = None, page_size: int = 100, if_none_match: str) -> Conditional[CustomerPage]: ...


class CustomerOrders(Protocol):
    def list(self, *, status: Sequence[OrderStatus] | None = None, order_type: Sequence[OrderType] | None = None, created_from: str | None = None, created_to: str | None = None, updated_from: str | None = None, updated_to: str | None = None, customer_id: Id | None = None, page_size: int = 100) -> Iterator[OrderSummary]: ...
    def pages(self, *, status: Sequence[OrderStatus] | None = None, order_type: Sequence[OrderType] | None = None, created_from: str | None = None, created_to: str | None = None, updated_from: str | None = None, updated_to: str | None = None, customer_id: Id | None = None, page_size: int = 100) -> Iterator[OrderSummaryPage]: ...
    @overload
    def page(self, *, page: int = 1, status: Sequence[OrderStatus] | None = None, order_type: Sequence[OrderType] | None = None, created_from: str | None = None, created_to: str | None = None, updated_from: str | None = None, updated_to: str | None = None, customer_id: Id | None = None, page_size: int = 100, if_none_match: None = None) -> OrderSummaryPage: ...
    @overload
    def page(self, *, page: int = 1, status: Sequence[OrderStatus] | None = None, order_type: Sequence[OrderType] | None = None, created_from: str | None = None, created_to: str | None = None, updated_from: str | None = None, updated_to: str | None = None, customer_id: Id | None = None, page_size: int = 100, if_none_match: str) -> Conditional[OrderSummaryPage]: ...


class Reviews(Protocol):
    def list(self, *, rating: Sequence[Rating] | None = None, created_from: str | None = None, created_to: str | None = None, page_size: int = 100) -> Iterator[ReviewSummary]: ...
    def pages(self, *, rating: Sequence[Rating] | None = None, created_from: str | None = None, created_to: str | None = None, page_size: int = 100) -> Iterator[ReviewSummaryPage]: ...
    @overload
    def page(self, *, page: int = 1, rating: Sequence[Rating] | None = None, created_from: str | None = None, created_to: str | None = None, page_size: int = 100, if_none_match: None = None) -> ReviewSummaryPage: ...
    @overload
    def page(self, *, page: int = 1, rating: Sequence[Rating] | None = None, created_from: str | None = None, created_to: str | None = None, page_size: int = 100, if_none_match: str) -> Conditional[ReviewSummaryPage]: ...
    @overload
    def get(self, id: str, *, if_none_match: None = None) -> Review: ...
    @overload
    def get(self, id: str, *, if_none_match: str) -> Conditional[Review]: ...


class Campaigns(Protocol):
    def list(self, *, status: Sequence[CampaignStatus] | None = None, page_size: int = 100) -> Iterator[CampaignSummary]: ...
    def pages(self, *, status: Sequence[CampaignStatus] | None = None, page_size: int = 100) -> Iterator[CampaignSummaryPage]: ...
    @overload
    def page(self, *, page: int = 1, status: Sequence[CampaignStatus] | None = None, page_size: int = 100, if_none_match: None = None) -> CampaignSummaryPage: ...
    @overload
    def page(self, *, page: int = 1, status: Sequence[CampaignStatus] | None = None, page_size: int = 100, if_none_match: str) -> Conditional[CampaignSummaryPage]: ...
    @overload
    def get(self, id: str, *, if_none_match: None = None) -> Campaign: ...
    @overload
    def get(self, id: str, *, if_none_match: str) -> Conditional[Campaign]: ...


class Orders(Protocol):
    def list(self, *, status: Sequence[OrderStatus] | None = None, order_type: Sequence[OrderType] | None = None, created_from: str | None = None, created_to: str | None = None, updated_from: str | None = None, updated_to: str | None = None, page_size: int = 100) -> Iterator[OrderSummary]: ...
    def pages(self, *, status: Sequence[OrderStatus] | None = None, order_type: Sequence[OrderType] | None = None, created_from: str | None = None, created_to: str | None = None, updated_from: str | None = None, updated_to: str | None = None, page_size: int = 100) -> Iterator[OrderSummaryPage]: ...
    @overload
    def page(self, *, page: int = 1, status: Sequence[OrderStatus] | None = None, order_type: Sequence[OrderType] | None = None, created_from: str | None = None, created_to: str | None = None, updated_from: str | None = None, updated_to: str | None = None, page_size: int = 100, if_none_match: None = None) -> OrderSummaryPage: ...
    @overload
    def page(self, *, page: int = 1, status: Sequence[OrderStatus] | None = None, order_type: Sequence[OrderType] | None = None, created_from: str | None = None, created_to: str | None = None, updated_from: str | None = None, updated_to: str | None = None, page_size: int = 100, if_none_match: str) -> Conditional[OrderSummaryPage]: ...
    @overload
    def get(self, id: str, *, if_none_match: None = None) -> Order: ...
    @overload
    def get(self, id: str, *, if_none_match: str) -> Conditional[Order]: ...


class Categories(Protocol):
    def list(self, *, page_size: int = 100) -> Iterator[CategorySummary]: ...
    def pages(self, *, page_size: int = 100) -> Iterator[CategorySummaryPage]: ...
    @overload
    def page(self, *, page: int = 1, page_size: int = 100, if_none_match: None = None) -> CategorySummaryPage: ...
    @overload
    def page(self, *, page: int = 1, page_size: int = 100, if_none_match: str) -> Conditional[CategorySummaryPage]: ...
    @overload
    def get(self, id: str, *, if_none_match: None = None) -> Category: ...
    @overload
    def get(self, id: str, *, if_none_match: str) -> Conditional[Category]: ...


class Products(Protocol):
    def list(self, *, category_id: Id | None = None, updated_from: str | None = None, updated_to: str | None = None, page_size: int = 100) -> Iterator[ProductSummary]: ...
    def pages(self, *, category_id: Id | None = None, updated_from: str | None = None, updated_to: str | None = None, page_size: int = 100) -> Iterator[ProductSummaryPage]: ...
    @overload
    def page(self, *, page: int = 1, category_id: Id | None = None, updated_from: str | None = None, updated_to: str | None = None, page_size: int = 100, if_none_match: None = None) -> ProductSummaryPage: ...
    @overload
    def page(self, *, page: int = 1, category_id: Id | None = None, updated_from: str | None = None, updated_to: str | None = None, page_size: int = 100, if_none_match: str) -> Conditional[ProductSummaryPage]: ...
    @overload
    def get(self, id: str, *, if_none_match: None = None) -> Product: ...
    @overload
    def get(self, id: str, *, if_none_match: str) -> Conditional[Product]: ...


class OptionGroups(Protocol):
    def list(self, *, page_size: int = 100) -> Iterator[OptionGroup]: ...
    def pages(self, *, page_size: int = 100) -> Iterator[OptionGroupPage]: ...
    @overload
    def page(self, *, page: int = 1, page_size: int = 100, if_none_match: None = None) -> OptionGroupPage: ...
    @overload
    def page(self, *, page: int = 1, page_size: int = 100, if_none_match: str) -> Conditional[OptionGroupPage]: ...


class Single(Protocol[T]):
    @overload
    def __call__(self, *, if_none_match: None = None) -> T: ...
    @overload
    def __call__(self, *, if_none_match: str) -> Conditional[T]: ...


class Changes(Protocol):
    """Follows changes without end, and repeats without limit unless `retries` is given. It asks for the next batch when the loop
    body is done with this one: a `next` that was stored there misses nothing."""

    @overload
    def __call__(
        self, *, kinds: Sequence[Kind] | None = None, records: Literal["whole"] = "whole", after: str | None = None,
        page_size: int = 1_000, wait: int = 30, retries: float = math.inf
    ) -> Iterator[Batch]: ...
    @overload
    def __call__(
        self, *, kinds: Sequence[Kind] | None = None, records: Literal["summary"], after: str | None = None,
        page_size: int = 1_000, wait: int = 30, retries: float = math.inf
    ) -> Iterator[SummaryBatch]: ...
