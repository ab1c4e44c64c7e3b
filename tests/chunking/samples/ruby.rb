# frozen_string_literal: true

# Tokens and sessions.
require "json"
require_relative "store/base"

# 認証。二文目。
module Auth
  LIMIT = 3

  # Answers for users.
  class Service < Base::Thing
    include Comparable
    attr_reader :name, :age
    attr_accessor :token

    # Makes one.
    def initialize(name)
      @name = name
    end

    def valid? = true

    def self.build(name)
      new(name)
    end

    class << self
      def default
        build("guest")
      end
    end

    private def secret
      local = 1
    end

    define_method(:dynamic) { 1 }
    alias_method :ok?, :valid?

    def <=>(other)
      0
    end
  end

  Point = Struct.new(:x, :y) do
    def norm
      x + y
    end
  end

  class Errors::Denied < StandardError; end

  def self.挨拶
    "こんにちは"
  end
end

def top_level(a, b: 1)
end
